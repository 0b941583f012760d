//! A server on rmcp that offers all that rmcp can, in both eras.
//!
//! `rmcp_server` speaks every revision, `rmcp_server --legacy` only those with a handshake. With `--http` it is reached
//! over HTTP, and says first where; there, `--stateless` is without sessions, and `--json` with answers that are single
//! documents if nothing has to be said before them.

// The peer marks sampling, roots and logging as on their way out; here they are what is tested.
#![allow(deprecated)]

mod asking;
mod changes;
mod http;
mod offers;
mod tools;

use std::borrow::Cow;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

use changes::Changes;

/// The server.
struct Everything {
    supported: &'static [ProtocolVersion],
    /// What a legacy client has set; modern ones say it in every request.
    log_level: Mutex<LoggingLevel>,
    changes: Changes,
    /// How many calls of `never` have begun.
    started: AtomicUsize,
    /// How many of them saw that they were cancelled.
    cancelled: AtomicUsize,
    /// How often a legacy client has said that its roots changed.
    roots_changed: AtomicUsize,
}

type Context = RequestContext<RoleServer>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is_told = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    let newest = if is_told("--legacy") { ProtocolVersion::V_2025_11_25 } else { ProtocolVersion::LATEST };
    let everything = Everything {
        supported: ProtocolVersion::known_up_to(&newest),
        log_level: Mutex::new(LoggingLevel::Emergency),
        changes: Changes::default(),
        started: AtomicUsize::new(0),
        cancelled: AtomicUsize::new(0),
        roots_changed: AtomicUsize::new(0),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if is_told("--http") {
            return http::serve(Arc::new(everything), is_told("--stateless"), is_told("--json")).await;
        }
        everything.serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
        Ok(())
    })
}

impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .enable_prompts_list_changed()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("everything", "3.8.0").with_title("Everything of rmcp"))
            .with_instructions("For tests only.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.supported)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let (tools, next_cursor) = offers::page(tools::offered(self.changes.has_added_tool()), request)?;
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = next_cursor;
        Ok(result)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        self.run_tool(request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (resources, next_cursor) = offers::page(offers::resources(), request)?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next_cursor;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(offers::resource_templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        offers::read(request, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(offers::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        offers::prompt(request, context).await
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        offers::complete(&request)
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        *self.log_level.lock().unwrap() = request.level;
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.changes.watch(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.changes.unwatch(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        self.changes.listen(subscription).await;
        Ok(())
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.roots_changed.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}
