//! The least that a server can do: one tool.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;

struct Minimal;

impl ServerHandler for Minimal {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema: JsonObject = [("type".to_owned(), Value::from("object"))].into_iter().collect();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "Says it again", schema)]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.arguments.and_then(|mut arguments| arguments.remove("text")) {
            Some(Value::String(text)) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            _ => Err(ErrorData::invalid_params("there is no text", None)),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        Minimal.serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
        Ok(())
    })
}
