//! The least that a client can do: start a server, list its tools, call one.

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::Value;
use tokio::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::args().nth(1).ok_or("usage: minimal-rmcp-client SERVER")?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let client = ().serve(TokioChildProcess::new(Command::new(server))?).await?;
        for tool in client.list_all_tools().await? {
            println!("{}", tool.name);
        }
        let arguments = [("text".to_owned(), Value::from("hello"))].into_iter().collect();
        let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
        println!("{:?}", result.content);
        client.cancel().await?;
        Ok(())
    })
}
