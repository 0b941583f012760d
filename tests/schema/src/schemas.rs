//! The official schemas, one for each revision, with a validator for each definition that was ever asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use windlass::model::ProtocolVersion;

use crate::corrections::correct;

/// The schemas of all revisions.
pub struct Schemas(BTreeMap<ProtocolVersion, Schema>);

impl Schemas {
    /// Reads `<folder>/<revision>/schema.json` for every revision.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let read = |version: ProtocolVersion| {
            let path = folder.join(version.as_str()).join("schema.json");
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let document = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((version, Schema::new(document)?))
        };
        ProtocolVersion::ALL.into_iter().map(read).collect::<Result<_, String>>().map(Self)
    }

    /// The same schema for every revision.
    pub fn of_one(document: &Value) -> Result<Self, String> {
        let same = |version| Ok((version, Schema::new(document.clone())?));
        ProtocolVersion::ALL.into_iter().map(same).collect::<Result<_, String>>().map(Self)
    }

    /// The schema of a revision.
    pub fn of(&self, version: ProtocolVersion) -> &Schema {
        &self.0[&version]
    }
}

/// The schema of one revision.
pub struct Schema {
    /// `$defs` or `definitions`, as the draft that the schema is written in wants it.
    container: &'static str,
    document: Value,
    /// The definition of each method's request or notification.
    methods: BTreeMap<String, String>,
    /// The definition of each error that has one of its own.
    errors: BTreeMap<i64, ErrorDefinition>,
    validators: RefCell<BTreeMap<String, Rc<Validator>>>,
}

/// A definition for the errors with one code.
#[derive(Debug, PartialEq)]
pub enum ErrorDefinition {
    /// It describes the whole frame.
    Frame(String),
    /// It describes the frame's `error`.
    Member(String),
}

impl Schema {
    /// A schema with what is known to be wrong in it put right.
    pub fn new(mut document: Value) -> Result<Self, String> {
        let container = ["$defs", "definitions"]
            .into_iter()
            .find(|container| document.get(container).is_some_and(Value::is_object))
            .ok_or("the schema has no definitions")?;
        if let Some(definitions) = document[container].as_object_mut() {
            correct(definitions);
        }
        let mut schema = Self {
            container,
            methods: BTreeMap::new(),
            errors: BTreeMap::new(),
            validators: RefCell::default(),
            document: Value::Null,
        };
        for (name, definition) in document[container].as_object().into_iter().flatten() {
            schema.index(name, definition);
        }
        schema.document = document;
        Ok(schema)
    }

    /// The definition of a method's request or notification.
    pub fn definition_of_method(&self, method: &str) -> Option<&str> {
        self.methods.get(method).map(String::as_str)
    }

    /// The definition of the errors with a code, if they have one of their own.
    pub fn definition_of_error(&self, code: i64) -> Option<&ErrorDefinition> {
        self.errors.get(&code)
    }

    /// Whether there is a definition of this name.
    pub fn defines(&self, name: &str) -> bool {
        self.definitions().contains_key(name)
    }

    /// The definitions that values were held against, and how many there are.
    pub fn coverage(&self) -> (usize, usize) {
        (self.validators.borrow().len(), self.definitions().len())
    }

    /// What is wrong with a value, if it should be as the definition says.
    pub fn faults(&self, definition: &str, value: &Value) -> Vec<String> {
        if !self.defines(definition) {
            return vec!["the revision has no such definition".to_owned()];
        }
        match self.validator(definition) {
            Ok(validator) => {
                validator.iter_errors(value).map(|error| at(error.instance_path().as_str(), &error)).collect()
            }
            Err(error) => vec![error],
        }
    }

    fn definitions(&self) -> &Map<String, Value> {
        self.document[self.container].as_object().expect("a schema without definitions is refused")
    }

    fn validator(&self, definition: &str) -> Result<Rc<Validator>, String> {
        if let Some(validator) = self.validators.borrow().get(definition) {
            return Ok(validator.clone());
        }
        let root = json!({
            "$schema": self.document["$schema"],
            self.container: self.document[self.container],
            "allOf": [{"$ref": format!("#/{}/{definition}", self.container)}],
        });
        let validator = jsonschema::options().should_validate_formats(true).should_ignore_unknown_formats(true);
        let validator = Rc::new(validator.build(&root).map_err(|error| format!("no valid schema: {error}"))?);
        self.validators.borrow_mut().insert(definition.to_owned(), validator.clone());
        Ok(validator)
    }

    fn index(&mut self, name: &str, definition: &Value) {
        // `ClientNotification` and its like are choices between definitions, and inlined where there is one choice.
        let is_choice = ["Client", "Server"].iter().any(|side| {
            name.strip_prefix(side).is_some_and(|rest| ["Request", "Notification", "Result"].contains(&rest))
        });
        if let (false, Some(method)) =
            (is_choice, definition.pointer("/properties/method/const").and_then(Value::as_str))
        {
            self.methods.insert(method.to_owned(), name.to_owned());
        }
        if let Some(code) = definition.pointer("/properties/code/const").and_then(Value::as_i64) {
            self.errors.insert(code, ErrorDefinition::Member(name.to_owned()));
        }
        let parts = definition.pointer("/properties/error/allOf").and_then(Value::as_array).into_iter().flatten();
        for code in parts.filter_map(|part| part.pointer("/properties/code/const")?.as_i64()) {
            self.errors.insert(code, ErrorDefinition::Frame(name.to_owned()));
        }
    }
}

fn at(path: &str, error: &dyn std::fmt::Display) -> String {
    if path.is_empty() { error.to_string() } else { format!("{path}: {error}") }
}
