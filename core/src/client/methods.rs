//! The list of typed calls, from which every adapter makes the methods of its handle.

/// Hands the list of a client's typed calls to another macro: for each call its documentation, the name of the
/// handle's method, the [`Method`](crate::model::Method) and the parameters.
///
/// Adapters use it to give all handles the same methods; a new method is one line here.
#[macro_export]
macro_rules! for_each_client_call {
    ($callback:ident) => {
        $callback! {
            /// Asks whether the server is there.
            ping() -> Ping = EmptyParams::default();
            /// Asks a modern server again what it is and can do; what it said first is in `peer`.
            discover() -> Discover = EmptyParams::default();
            /// Lists one page of the tools; `None` is the first.
            list_tools_page(cursor: Option<String>) -> ListTools = PaginatedParams::at(cursor);
            /// Lists one page of the resources; `None` is the first.
            list_resources_page(cursor: Option<String>) -> ListResources = PaginatedParams::at(cursor);
            /// Lists one page of the resource templates; `None` is the first.
            list_resource_templates_page(cursor: Option<String>) -> ListResourceTemplates = PaginatedParams::at(cursor);
            /// Lists one page of the prompts; `None` is the first.
            list_prompts_page(cursor: Option<String>) -> ListPrompts = PaginatedParams::at(cursor);
            /// Reads a resource.
            read_resource(uri: &str) -> ReadResource = ReadResourceParams::new(uri);
            /// Asks a legacy server to tell when a resource changes. `listen` does it in both eras.
            subscribe_resource(uri: &str) -> Subscribe = SubscribeParams::new(uri);
            /// Ends what `subscribe_resource` began.
            unsubscribe_resource(uri: &str) -> Unsubscribe = SubscribeParams::new(uri);
            /// Gets a prompt, with its parameters built by [`GetPromptParams`](windlass::model::GetPromptParams).
            get_prompt(params: GetPromptParams) -> GetPrompt = params;
            /// Asks for completions of an argument.
            complete(params: CompleteParams) -> Complete = params;
            /// Sets which log messages the server sends from now on.
            set_log_level(level: LoggingLevel) -> SetLevel = SetLevelParams::new(level);
        }
    };
}

/// Hands the list of a client's whole listings to another macro: for each the documentation, the name of the handle's
/// method, the [`Method`](crate::model::Method) that lists one page, the field that holds the entries, and their type.
#[macro_export]
macro_rules! for_each_client_listing {
    ($callback:ident) => {
        $callback! {
            /// Lists all tools, page by page.
            list_tools = ListTools.tools -> Tool;
            /// Lists all resources, page by page.
            list_resources = ListResources.resources -> Resource;
            /// Lists all resource templates, page by page.
            list_resource_templates = ListResourceTemplates.resource_templates -> ResourceTemplate;
            /// Lists all prompts, page by page.
            list_prompts = ListPrompts.prompts -> Prompt;
        }
    };
}
