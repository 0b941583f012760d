//! What our server wants of rmcp's client: requests of its own in the legacy era, results that are not complete in the
//! modern one. The handlers on our side are the same.

use rmcp::model::*;
use rmcp::service::ServiceError;

use crate::guest::{Answers, Program, call, connect, connect_as, eras, legacy, modern, text};

on_every_runtime! {
    every_question_of_a_tool_is_answered
    resources_and_prompts_may_ask_too
    a_page_to_visit_needs_an_id_that_the_modern_era_does_not_have
    a_user_may_decline
    a_handler_that_fails_fails_the_call_and_nothing_else
    a_client_that_cannot_answer_is_not_asked
}

async fn every_question_of_a_tool_is_answered(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        assert_eq!(call(&client, "ask_user").await, "Ada");
        assert_eq!(call(&client, "ask_visit_by_id").await, "accept");
        assert_eq!(call(&client, "ask_model").await, "windlass by a-model");
        assert_eq!(call(&client, "ask_roots").await, "file:///one file:///two");
        assert_eq!(call(&client, "ask_twice").await, "Ada: windlass by a-model");
        client.cancel().await.unwrap();
    }
}

async fn resources_and_prompts_may_ask_too(server: Program) {
    for era in eras() {
        let (client, _) = connect(server, era).await;
        let secret = client.read_resource(ReadResourceRequestParams::new("test://secret")).await.unwrap();
        match &secret.contents[0] {
            ResourceContents::TextResourceContents { text, .. } => assert_eq!(text, "the secret of Ada"),
            other => panic!("{other:?}"),
        }
        let prompt = client.get_prompt(GetPromptRequestParams::new("question")).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text().unwrap().text, "I am Ada.");
        client.cancel().await.unwrap();
    }
}

async fn a_page_to_visit_needs_an_id_that_the_modern_era_does_not_have(server: Program) {
    // 2025-11-25 requires `elicitationId`, 2026-07-28 does not know it. rmcp requires it in both, and cannot read a
    // modern question without one. A handler that gives an id is understood everywhere.
    let (client, _) = connect(server, modern()).await;
    client.call_tool(CallToolRequestParams::new("ask_visit")).await.unwrap_err();
    assert_eq!(call(&client, "ask_visit_by_id").await, "accept");
    client.cancel().await.unwrap();
    let (client, _) = connect(server, legacy()).await;
    assert_eq!(call(&client, "ask_visit").await, "accept");
    client.cancel().await.unwrap();
}

async fn a_user_may_decline(server: Program) {
    for era in eras() {
        let (client, _) = connect_as(server, era, ProtocolVersion::LATEST, Answers::Declining).await.unwrap();
        assert_eq!(call(&client, "ask_user").await, "decline");
        client.cancel().await.unwrap();
    }
}

async fn a_handler_that_fails_fails_the_call_and_nothing_else(server: Program) {
    let why = "nobody is at home";
    // Our server hears of it, and tells the model.
    let (client, _) = connect_as(server, legacy(), ProtocolVersion::LATEST, Answers::Failing).await.unwrap();
    let result = client.call_tool(CallToolRequestParams::new("ask_user")).await.unwrap();
    assert!(result.is_error == Some(true) && text(&result).contains(why), "{result:?}");
    call(&client, "caller").await;
    client.cancel().await.unwrap();
    // In the modern era rmcp keeps it to itself: the call is not made again.
    let (client, _) = connect_as(server, modern(), ProtocolVersion::LATEST, Answers::Failing).await.unwrap();
    let error = client.call_tool(CallToolRequestParams::new("ask_user")).await.unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
    call(&client, "caller").await;
    client.cancel().await.unwrap();
}

async fn a_client_that_cannot_answer_is_not_asked(server: Program) {
    for era in eras() {
        let is_legacy = era == legacy();
        let (client, _) = connect_as(server, era, ProtocolVersion::LATEST, Answers::Never).await.unwrap();
        for tool in ["ask_user", "ask_visit_by_id", "ask_model", "ask_roots"] {
            match client.call_tool(CallToolRequestParams::new(tool)).await {
                Ok(result) => assert!(is_legacy && result.is_error == Some(true), "{tool}: {result:?}"),
                Err(ServiceError::McpError(error)) => {
                    assert!(!is_legacy, "{tool}: {error:?}");
                    assert_eq!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, "{tool}");
                }
                Err(other) => panic!("{tool}: {other:?}"),
            }
        }
        call(&client, "caller").await;
        client.cancel().await.unwrap();
    }
}
