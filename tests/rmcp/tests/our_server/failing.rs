//! Errors, and what they are about.

use rmcp::model::*;
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::guest::{Program, call, connect, eras, legacy, text};

on_every_runtime! {
    what_is_not_there_is_an_error
    arguments_that_do_not_fit_are_told_to_the_model
}

async fn what_is_not_there_is_an_error(server: Program) {
    for era in eras() {
        let no_resource = if era == legacy() { ErrorCode::RESOURCE_NOT_FOUND } else { ErrorCode::INVALID_PARAMS };
        let (client, _) = connect(server, era).await;
        let error = client.call_tool(CallToolRequestParams::new("juggle")).await.unwrap_err();
        assert_eq!(code(&error), ErrorCode::INVALID_PARAMS, "{error}");
        let error = client.get_prompt(GetPromptRequestParams::new("poem")).await.unwrap_err();
        assert_eq!(code(&error), ErrorCode::INVALID_PARAMS, "{error}");
        let error = client.get_prompt(GetPromptRequestParams::new("greeting")).await.unwrap_err();
        assert_eq!(code(&error), ErrorCode::INVALID_PARAMS, "an argument is missing: {error}");
        let error = client.read_resource(ReadResourceRequestParams::new("test://nowhere")).await.unwrap_err();
        assert_eq!(code(&error), no_resource, "{error}");
        let page = PaginatedRequestParams::default().with_cursor(Some("beyond".to_owned()));
        let error = client.list_tools(Some(page)).await.unwrap_err();
        assert_eq!(code(&error), ErrorCode::INVALID_PARAMS, "{error}");
        let unknown = ClientRequest::CustomRequest(CustomRequest::new("no/such/method", None));
        let error = client.send_request(unknown).await.unwrap_err();
        assert_eq!(code(&error), ErrorCode::METHOD_NOT_FOUND, "{error}");
        call(&client, "caller").await;
        client.cancel().await.unwrap();
    }
}

async fn arguments_that_do_not_fit_are_told_to_the_model(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        let Value::Object(arguments) = json!({"text": 7}) else { unreachable!("it is an object") };
        let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        assert!(text(&result).contains("echo"), "{result:?}");
        client.cancel().await.unwrap();
    }
}

fn code(error: &ServiceError) -> ErrorCode {
    match error {
        ServiceError::McpError(error) => error.code,
        other => panic!("{other:?}"),
    }
}
