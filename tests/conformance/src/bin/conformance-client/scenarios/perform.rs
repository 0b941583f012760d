//! Which scenario it is.

use std::time::Duration;

use super::adapter::client::Negotiation;
use super::adapter::{Client, ClientBuilder, HttpTarget};
use super::{asked, authorized, connected, headers, schemas};
use crate::task::Task;

/// Less than the suite's patience, so that a client that waits in vain can still say for what.
const PATIENCE: Duration = Duration::from_secs(15);

program!(main(task: Task) -> Result<(), Box<dyn std::error::Error>>, {
    match task.scenario.as_str() {
        "initialize" => wait!(connected::initialize(&task)),
        "tools_call" => wait!(connected::tools_call(&task)),
        "sse-retry" => wait!(connected::sse_retry(&task)),
        "request-metadata" => wait!(connected::request_metadata(&task)),
        "elicitation-sep1034-client-defaults" => wait!(asked::defaults(&task)),
        "sep-2322-client-request-state" => wait!(asked::request_state(&task)),
        "http-standard-headers" => wait!(headers::standard(&task)),
        "http-custom-headers" => wait!(headers::custom(&task)),
        "http-invalid-tool-headers" => wait!(headers::invalid(&task)),
        "json-schema-ref-no-deref" => wait!(schemas::references(&task)),
        "json-schema-2020-12-preservation" => wait!(schemas::preservation(&task)),
        "auth/basic-cimd" => wait!(authorized::by_document(&task)),
        "auth/pre-registration" => wait!(authorized::pre_registered(&task)),
        "auth/resource-mismatch"
        | "auth/iss-supported-missing"
        | "auth/iss-wrong-issuer"
        | "auth/iss-unexpected"
        | "auth/iss-normalized"
        | "auth/metadata-issuer-mismatch"
        | "auth/scope-retry-limit" => wait!(authorized::refuses(&task)),
        "auth/client-credentials-basic" => wait!(authorized::client_credentials(&task)),
        "auth/client-credentials-jwt" => wait!(authorized::client_credentials_by_signature(&task)),
        "auth/enterprise-managed-authorization" => wait!(authorized::enterprise_managed(&task)),
        "auth/wif-jwt-bearer" => wait!(authorized::workload(&task)),
        "auth/dpop" | "auth/dpop-nonce" => wait!(authorized::bound_tokens(&task)),
        other if other.starts_with("auth/") => wait!(authorized::logs_in(&task)),
        other => Err(format!("not yet: {other}").into()),
    }
});

/// A client that speaks exactly the revision of the scenario.
pub(super) fn client(task: &Task) -> ClientBuilder {
    Client::builder("windlass-conformance", env!("CARGO_PKG_VERSION"))
        .negotiation(Negotiation::Pinned(task.version))
        .idle_timeout(PATIENCE)
        .configure(|config| config.handshake_timeout = PATIENCE)
}

/// Where the scenario's server is.
pub(super) fn target(task: &Task) -> Result<HttpTarget, Box<dyn std::error::Error>> {
    Ok(HttpTarget::new(&task.url)?)
}
