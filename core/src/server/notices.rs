//! What the program tells clients by notifications of its choice.

use alloc::borrow::ToOwned;
use alloc::string::ToString;

use serde::Serialize;

use super::registry::Changes;
use super::{Caller, Server};
use crate::error::SendError;
use crate::json::Json;
use crate::jsonrpc::Splice;
use crate::model::{
    Cancelled, ElicitationComplete, LoggingMessage, MethodInfo, Notice, Progress, PromptListChanged,
    ResourceListChanged, ResourceUpdated, Side, SubscriptionsAcknowledged, ToolListChanged,
};
use crate::rpc::RequestKey;

/// What a notification says, once it is known to be an object.
pub(crate) fn written<P: Serialize + ?Sized>(params: &P) -> Result<Json, SendError> {
    let params = Json::of(params).map_err(|error| SendError::Unencodable(error.to_string()))?;
    match params.as_text() {
        text if text.is_object() => Ok(params),
        text if text.is_null() => Ok(Json::empty_object()),
        _ => Err(SendError::Unencodable("they are no JSON object".to_owned())),
    }
}

/// Whether only the client that it is about may be told.
pub(crate) fn is_private(method: &str) -> bool {
    method == ElicitationComplete::NAME
}

impl<T, H: Clone> Server<T, H> {
    /// Tells the client of a request, or the legacy client, if its revision has the notification. What the engine has a
    /// way of its own to tell goes that way: changes to those who listen, log messages to those who want them.
    ///
    /// A request that is over names a legacy client all the same, for what is told to be complete long after.
    pub(crate) fn notify(&mut self, key: Option<RequestKey>, method: &str, params: &Json) -> Result<(), SendError> {
        if self.closed.is_some() {
            return Err(SendError::Closed);
        }
        let known = MethodInfo::find(method);
        let offer = known.and_then(|known| known.of_offer);
        if offer.is_some_and(|capability| !self.offers(capability)) {
            return Err(SendError::Invalid(alloc::format!("{method} is of what this server does not offer")));
        }
        let not_for_programs =
            || SendError::Invalid(alloc::format!("{method} is not for the program of a server to send"));
        let unreadable = |error: serde_json::Error| SendError::Invalid(error.to_string());
        match method {
            ToolListChanged::NAME => self.tell_changes(Changes { tools: true, ..Changes::default() }),
            ResourceListChanged::NAME => self.tell_changes(Changes { resources: true, ..Changes::default() }),
            PromptListChanged::NAME => self.tell_changes(Changes { prompts: true, ..Changes::default() }),
            ResourceUpdated::NAME => {
                let uri = ResourceUpdated::read(params.as_text()).map_err(unreadable)?.uri;
                self.resource_updated(&uri);
            }
            LoggingMessage::NAME => self.log(key, &LoggingMessage::read(params.as_text()).map_err(unreadable)?),
            Progress::NAME => {
                let Some(key) = key else {
                    return Err(SendError::Invalid("progress belongs to a request".to_owned()));
                };
                let told = Progress::read(params.as_text()).map_err(unreadable)?;
                self.progress(key, told.progress, told.total, told.message.as_deref());
            }
            Cancelled::NAME | SubscriptionsAcknowledged::NAME => return Err(not_for_programs()),
            _ if known.is_some_and(|known| !known.is_sent_by(Side::Server)) => return Err(not_for_programs()),
            _ => self.tell(key, method, params)?,
        }
        Ok(())
    }

    fn tell(&mut self, key: Option<RequestKey>, method: &str, params: &Json) -> Result<(), SendError> {
        let open = key.and_then(|key| Some((key, self.rpc.request(key)?.data.version?)));
        let legacy = self.legacy.caller.as_deref().filter(|_| self.legacy.operating);
        let (about, version) = match (open, legacy) {
            (Some((key, version)), _) => (Some(key), version),
            (None, Some(caller)) => (None, caller.version),
            (None, None) => return Err(SendError::NotReady),
        };
        if MethodInfo::find(method).is_some_and(|known| !known.is_in(version)) {
            return Err(SendError::NotInRevision { method: method.to_owned(), version });
        }
        let visits = |caller: &Caller| caller.capabilities.supports_url_elicitation();
        if method == ElicitationComplete::NAME && !self.legacy.caller.as_deref().is_some_and(visits) {
            return Err(SendError::NotSupported { method: method.to_owned(), capability: "elicitation.url" });
        }
        self.rpc.notify(about, method, params, Splice::default());
        Ok(())
    }
}
