//! Asking the client: by a request of the server's own in the legacy era, by a result that says what is missing in the
//! modern one. rmcp leaves the choice to the program.

use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::Value;

use super::Context;

/// What became of a question.
pub(super) enum Asked {
    /// It is answered.
    Answer(Value),
    /// It is still open, and this is to be the result.
    Open(InputRequiredResult),
}

/// Asks under a name, unless `responses` hold the answer already.
pub(super) async fn ask(
    context: &Context,
    responses: Option<&InputResponses>,
    name: &str,
    request: InputRequest,
) -> Result<Asked, ErrorData> {
    if is_modern(context) {
        return Ok(match responses.and_then(|responses| responses.get(name)) {
            Some(answer) => Asked::Answer(answer.clone()),
            None => {
                Asked::Open(InputRequiredResult::from_input_requests(InputRequests::from([(name.to_owned(), request)])))
            }
        });
    }
    let request = match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err(ErrorData::internal_error("a question of a new kind", None)),
    };
    let answer = context.peer.send_request(request).await.map_err(failed)?;
    serde_json::to_value(answer).map(Asked::Answer).map_err(failed)
}

/// Whether the request is one of 2026-07-28.
pub(super) fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// A form with one field.
pub(super) fn form(message: &str, field: &str) -> InputRequest {
    let schema = ElicitationSchema::builder().required_string(field).build();
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: schema.unwrap_or_else(|why| unreachable!("the schema is well-formed: {why}")),
    }))
}

/// A page to visit.
pub(super) fn page_to_visit(message: &str, url: &str) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: message.to_owned(),
        url: url.to_owned(),
        elicitation_id: "visit-1".to_owned(),
    }))
}

/// A question to the model.
pub(super) fn sampling(text: &str) -> InputRequest {
    let messages = vec![SamplingMessage::user_text(text)];
    InputRequest::CreateMessage(CreateMessageRequest::new(CreateMessageRequestParams::new(messages, 10)))
}

/// The question which roots there are.
pub(super) fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest { method: Default::default(), extensions: Default::default() })
}

/// An error of the server's own.
pub(super) fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
