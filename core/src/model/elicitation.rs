//! Elicitation: a server asks the client's user.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ElicitSchema, Meta, PropertySchema};
use crate::json::{Json, RawText};
use crate::jsonrpc::{RpcError, code};

/// How the user is to be asked.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitParams {
    /// By a form that the client shows.
    Form(ElicitFormParams),
    /// By a page that the server shows, for what the client must not see (2025-11-25).
    Url(ElicitUrlParams),
    /// In a way that the specification does not list.
    Other(Json),
}

impl Serialize for ElicitParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(params) => params.serialize(serializer),
            Self::Url(params) => params.serialize(serializer),
            Self::Other(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag<'a> {
            #[serde(borrow, default)]
            mode: Option<Cow<'a, str>>,
        }

        let raw = RawText::deserialize(deserializer)?;
        let tag: Tag<'_> = raw.read()?;
        Ok(match tag.mode.as_deref() {
            // 2025-06-18 knew nothing but forms, so silence still means one.
            None | Some("form") => Self::Form(raw.read()?),
            Some("url") => Self::Url(raw.read()?),
            Some(_) => Self::Other((&raw).into()),
        })
    }
}

impl From<ElicitFormParams> for ElicitParams {
    fn from(params: ElicitFormParams) -> Self {
        Self::Form(params)
    }
}

impl From<ElicitUrlParams> for ElicitParams {
    fn from(params: ElicitUrlParams) -> Self {
        Self::Url(params)
    }
}

constant! {
    /// The `mode` of a form, which may be left out.
    pub struct FormMode = "form";
}

constant! {
    /// The `mode` of a URL.
    pub struct UrlMode = "url";
}

/// A form for the user. Nothing secret may be asked for in one.
///
/// ```
/// use windlass::model::{BooleanSchema, ElicitFormParams, StringFormat, StringSchema};
///
/// let params = ElicitFormParams::new("Where shall we write to?")
///     .with_required_property("email", StringSchema::new().with_format(StringFormat::Email))
///     .with_property("newsletter", BooleanSchema::new().with_default(false));
/// assert_eq!(
///     serde_json::to_string(&params.requested_schema)?,
///     concat!(
///         r#"{"type":"object","properties":{"email":{"type":"string","format":"email"},"#,
///         r#""newsletter":{"type":"boolean","default":false}},"required":["email"]}"#,
///     ),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitFormParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Says that it is a form (2025-11-25); absent says so too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FormMode>,
    /// What to tell the user.
    pub message: String,
    /// The fields of the form.
    pub requested_schema: ElicitSchema,
    /// Asks to run the request as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Json>,
}

impl ElicitFormParams {
    /// A form without fields.
    pub fn new(message: impl Into<String>) -> Self {
        Self { meta: None, mode: None, message: message.into(), requested_schema: ElicitSchema::new(), task: None }
    }

    /// Adds a field that may be left empty.
    #[must_use]
    pub fn with_property(mut self, name: impl Into<String>, schema: impl Into<PropertySchema>) -> Self {
        self.requested_schema = self.requested_schema.with_property(name, schema);
        self
    }

    /// Adds a field that must be filled in.
    #[must_use]
    pub fn with_required_property(mut self, name: impl Into<String>, schema: impl Into<PropertySchema>) -> Self {
        self.requested_schema = self.requested_schema.with_required_property(name, schema);
        self
    }
}

setters!(ElicitFormParams {
    with_mode(mode: FormMode),
    with_task(task: Json),
    with_meta(meta: Meta),
});

/// A page for the user to visit (2025-11-25).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitUrlParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Says that it is a URL.
    pub mode: UrlMode,
    /// What to tell the user.
    pub message: String,
    /// The page, which nobody but the user may open.
    pub url: String,
    /// Names the elicitation in `notifications/elicitation/complete` (required in 2025-11-25, unknown elsewhere).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Asks to run the request as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Json>,
}

impl ElicitUrlParams {
    /// A page for the user to visit.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { meta: None, mode: UrlMode, message: message.into(), url: url.into(), elicitation_id: None, task: None }
    }
}

setters!(ElicitUrlParams {
    with_elicitation_id(elicitation_id: impl Into<String>),
    with_task(task: Json),
    with_meta(meta: Meta),
});

impl RpcError {
    /// The user has to visit these pages before the request can be served; the client makes it again afterwards.
    ///
    /// Pages are named by their ids in [`ElicitationComplete`](crate::model::ElicitationComplete), by their URLs if they were
    /// given none. A server says this by [`code::URL_ELICITATION_REQUIRED`] to clients of 2025-11-25, and asks for the visits
    /// as a handler does that needs input where that is the way, in 2026-07-28. Clients that cannot be sent anywhere are
    /// told so.
    ///
    /// ```
    /// use windlass::RpcError;
    /// use windlass::model::ElicitUrlParams;
    ///
    /// let page = ElicitUrlParams::new("Log in first.", "https://example.com/login").with_elicitation_id("login-7");
    /// assert_eq!(RpcError::url_elicitation_required("not logged in", [page]).code, -32042);
    /// ```
    pub fn url_elicitation_required(
        message: impl Into<String>,
        pages: impl IntoIterator<Item = ElicitUrlParams>,
    ) -> Self {
        let named = |mut page: ElicitUrlParams| {
            page.elicitation_id.get_or_insert_with(|| page.url.clone());
            page
        };
        let elicitations = pages.into_iter().map(named).collect();
        Self::new(code::URL_ELICITATION_REQUIRED, message).with_data(&RequiredPages { elicitations })
    }
}

/// What an error by [`code::URL_ELICITATION_REQUIRED`] says (2025-11-25 only).
#[derive(Serialize, Deserialize)]
pub(crate) struct RequiredPages {
    pub(crate) elicitations: Vec<ElicitUrlParams>,
}

/// What the user did.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitResult {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Whether the user agreed.
    pub action: ElicitAction,
    /// What the user filled into the form; absent unless a form was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ElicitContent>,
}

impl ElicitResult {
    /// The user did this, and filled in nothing. Accepting a URL only says that the user agreed to open it.
    pub fn new(action: ElicitAction) -> Self {
        Self { meta: None, action, content: None }
    }

    /// The user filled in the form.
    pub fn accept(content: ElicitContent) -> Self {
        Self { meta: None, action: ElicitAction::Accept, content: Some(content) }
    }

    /// The user said no.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// The user went away without an answer.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }
}

setters!(ElicitResult { with_meta(meta: Meta), });

open_enum! {
    /// What the user did when asked.
    pub enum ElicitAction {
        /// Agreed.
        Accept = "accept",
        /// Said no.
        Decline = "decline",
        /// Went away without an answer.
        Cancel = "cancel",
    }
}

json_map! {
    /// What the user filled into a form: strings, numbers, booleans and (2025-11-25) arrays of strings.
    pub struct ElicitContent;
}

impl ElicitContent {
    /// What was chosen in a field that offers several. A client of 2025-06-18, which has no such field, is asked for text
    /// with commas in its place.
    ///
    /// ```
    /// use windlass::model::ElicitContent;
    ///
    /// let mut content = ElicitContent::new();
    /// content.insert("sizes", &["s", "m"])?;
    /// content.insert("colours", "r, g")?;
    /// assert_eq!(content.choices("sizes"), ["s", "m"]);
    /// assert_eq!(content.choices("colours"), ["r", "g"]);
    /// assert!(content.choices("shapes").is_empty());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn choices(&self, name: &str) -> Vec<String> {
        let text = || self.get::<String>(name).unwrap_or_default();
        self.get::<Vec<String>>(name).unwrap_or_else(|| {
            text().split(',').map(str::trim).filter(|choice| !choice.is_empty()).map(String::from).collect()
        })
    }
}

/// Which elicitation is done (2025-11-25 only).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationCompleteParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The id from the params that sent the user there.
    pub elicitation_id: String,
}

impl ElicitationCompleteParams {
    /// The elicitation `elicitation_id` is done.
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self { meta: None, elicitation_id: elicitation_id.into() }
    }
}

setters!(ElicitationCompleteParams { with_meta(meta: Meta), });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_decides_and_silence_means_a_form() {
        let read = |text| serde_json::from_str::<ElicitParams>(text).unwrap();
        let form = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
        assert_eq!(read(form), ElicitFormParams::new("m").into());
        let url = r#"{"mode":"url","message":"m","url":"https://example.com/"}"#;
        assert_eq!(read(url), ElicitUrlParams::new("m", "https://example.com/").into());
        for text in [form, url, r#"{"mode":"voice", "message":"m"}"#] {
            assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
        }
    }

    #[test]
    fn results_say_what_the_user_did() {
        assert_eq!(serde_json::to_string(&ElicitResult::decline()).unwrap(), r#"{"action":"decline"}"#);
        let mut content = ElicitContent::new();
        content.insert("age", &30).unwrap();
        let text = serde_json::to_string(&ElicitResult::accept(content)).unwrap();
        assert_eq!(text, r#"{"action":"accept","content":{"age":30}}"#);
    }
}
