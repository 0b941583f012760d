//! What kind of result an answer is.

use serde::{Deserialize, Serialize};

open_enum! {
    /// The `resultType` of a result (2026-07-28).
    pub enum ResultType {
        /// The answer.
        Complete = "complete",
        /// The server needs input from the client before it can answer.
        InputRequired = "input_required",
    }
}

/// Reads just `resultType` from a result of any method; absent, as in all earlier revisions, means complete.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultHead {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
}

impl ResultHead {
    /// The kind of result, with the default for results that do not say.
    pub fn kind(self) -> ResultType {
        self.result_type.unwrap_or(ResultType::Complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_does_not_say_is_complete() {
        let kind = |text| serde_json::from_str::<ResultHead>(text).unwrap().kind();
        assert_eq!(kind(r#"{"tools":[]}"#), ResultType::Complete);
        assert_eq!(kind(r#"{"resultType":"input_required"}"#), ResultType::InputRequired);
        assert_eq!(kind(r#"{"resultType":"task"}"#), ResultType::Other("task".into()));
        assert!(serde_json::from_str::<ResultHead>(r#"{"resultType":1}"#).is_err());
    }
}
