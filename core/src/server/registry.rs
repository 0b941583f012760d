//! What a server offers. Entries come and go at run time; clients are told.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::jsonrpc::RpcError;
use crate::model::{CompletionReference, Prompt, Resource, ResourceTemplate, Tool, UriTemplate, UriTemplateError};
use crate::table::Table;

/// Tools, resources, templates, prompts, completions and methods of the program's own, each with a handler of the program's.
///
/// ```
/// use windlass::model::Tool;
/// use windlass::server::Registry;
///
/// let mut registry: Registry<fn() -> u32> = Registry::new();
/// registry.add_tool(Tool::without_arguments("answer"), || 42);
/// assert!(registry.remove_tool("answer"));
/// ```
#[derive(Clone, Debug)]
pub struct Registry<H> {
    pub(super) tools: Offers<Tool, H>,
    pub(super) resources: Offers<Resource, H>,
    pub(super) templates: Offers<(ResourceTemplate, UriTemplate), H>,
    pub(super) prompts: Offers<Prompt, H>,
    rare: Option<Box<Rare<H>>>,
    pub(super) changes: Changes,
}

/// What few servers have, so that the others have no more than a place for it.
#[derive(Clone, Debug)]
struct Rare<H> {
    completions: BTreeMap<(CompletionKey, String), H>,
    /// Whether there ever was a completion: what was declared to clients stays declared.
    completions_offered: bool,
    methods: BTreeMap<Arc<str>, H>,
}

impl<H> Default for Rare<H> {
    fn default() -> Self {
        Self { completions: BTreeMap::new(), completions_offered: false, methods: BTreeMap::new() }
    }
}

/// Which lists have changed since clients were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(super) tools: bool,
    pub(super) resources: bool,
    pub(super) prompts: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CompletionKey {
    Prompt(String),
    Resource(String),
}

impl<H> Default for Registry<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H> Registry<H> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            tools: Offers::new(),
            resources: Offers::new(),
            templates: Offers::new(),
            prompts: Offers::new(),
            rare: None,
            changes: Changes::default(),
        }
    }

    /// Gives back the memory that was set aside for more.
    pub(super) fn trim(&mut self) {
        self.tools.fit();
        self.resources.fit();
        self.templates.fit();
        self.prompts.fit();
    }

    /// Adds a tool, or replaces the one of that name.
    pub fn add_tool(&mut self, tool: Tool, handler: H) {
        self.tools.insert(tool.name.clone(), tool, handler);
        self.changes.tools = true;
    }

    /// Removes a tool; false if there is none of that name.
    pub fn remove_tool(&mut self, name: &str) -> bool {
        let removed = self.tools.remove(name);
        self.changes.tools |= removed;
        removed
    }

    /// Adds a resource, or replaces the one at that URI.
    pub fn add_resource(&mut self, resource: Resource, handler: H) {
        self.resources.insert(resource.uri.clone(), resource, handler);
        self.changes.resources = true;
    }

    /// Removes a resource; false if there is none at that URI.
    pub fn remove_resource(&mut self, uri: &str) -> bool {
        let removed = self.resources.remove(uri);
        self.changes.resources |= removed;
        removed
    }

    /// Adds a template for resources, or replaces the one with that URI template. A template that cannot be matched
    /// is refused, and spoils no other.
    pub fn add_resource_template(&mut self, template: ResourceTemplate, handler: H) -> Result<(), UriTemplateError> {
        let matcher = UriTemplate::parse(&template.uri_template)?;
        self.templates.insert(template.uri_template.clone(), (template, matcher), handler);
        self.changes.resources = true;
        Ok(())
    }

    /// Removes a template; false if there is none.
    pub fn remove_resource_template(&mut self, uri_template: &str) -> bool {
        let removed = self.templates.remove(uri_template);
        self.changes.resources |= removed;
        removed
    }

    /// A tool, as it is listed.
    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name).map(|(_, tool, _)| tool)
    }

    /// Adds a prompt, or replaces the one of that name.
    pub fn add_prompt(&mut self, prompt: Prompt, handler: H) {
        self.prompts.insert(prompt.name.clone(), prompt, handler);
        self.changes.prompts = true;
    }

    /// Removes a prompt; false if there is none of that name.
    pub fn remove_prompt(&mut self, name: &str) -> bool {
        let removed = self.prompts.remove(name);
        self.changes.prompts |= removed;
        removed
    }

    /// Adds a handler that completes an argument of a prompt.
    pub fn add_prompt_completion(&mut self, prompt: &str, argument: &str, handler: H) {
        self.add_completion(CompletionKey::Prompt(prompt.to_owned()), argument, handler);
    }

    /// Removes what completes an argument of a prompt; false if nothing does.
    pub fn remove_prompt_completion(&mut self, prompt: &str, argument: &str) -> bool {
        self.remove_completion(CompletionKey::Prompt(prompt.to_owned()), argument)
    }

    /// Adds a handler that completes a variable of a resource template.
    pub fn add_resource_completion(&mut self, uri_template: &str, variable: &str, handler: H) {
        self.add_completion(CompletionKey::Resource(uri_template.to_owned()), variable, handler);
    }

    /// Removes what completes a variable of a resource template; false if nothing does.
    pub fn remove_resource_completion(&mut self, uri_template: &str, variable: &str) -> bool {
        self.remove_completion(CompletionKey::Resource(uri_template.to_owned()), variable)
    }

    fn add_completion(&mut self, of: CompletionKey, argument: &str, handler: H) {
        let rare = self.rare.get_or_insert_default();
        rare.completions.insert((of, argument.to_owned()), handler);
        rare.completions_offered = true;
    }

    fn remove_completion(&mut self, of: CompletionKey, argument: &str) -> bool {
        self.rare.as_mut().is_some_and(|rare| rare.completions.remove(&(of, argument.to_owned())).is_some())
    }

    /// Serves a method that the protocol does not have, in both eras, or replaces what served it. The protocol's own
    /// methods stay its own: a handler for one of them is never invoked.
    pub fn add_method(&mut self, method: &str, handler: H) {
        self.rare.get_or_insert_default().methods.insert(method.into(), handler);
    }

    /// Serves a method no longer; false if it was not served.
    pub fn remove_method(&mut self, method: &str) -> bool {
        self.rare.as_mut().is_some_and(|rare| rare.methods.remove(method).is_some())
    }

    pub(super) fn method(&self, method: &str) -> Option<(&Arc<str>, &H)> {
        self.rare.as_ref()?.methods.get_key_value(method)
    }

    pub(super) fn has_completions(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.completions_offered)
    }

    pub(super) fn offers_resources(&self) -> bool {
        self.resources.were_offered() || self.templates.were_offered()
    }

    /// The handler for a URI, with the variables of the template that matched.
    pub(super) fn find_resource(&self, uri: &str) -> Option<(&H, BTreeMap<String, String>)> {
        if let Some((_, _, handler)) = self.resources.get(uri) {
            return Some((handler, BTreeMap::new()));
        }
        self.templates.iter().find_map(|((_, matcher), handler)| Some((handler, matcher.matches(uri)?)))
    }

    /// The handler that completes an argument; `Ok(None)` if what it belongs to exists but has none.
    pub(super) fn find_completion(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Result<Option<&H>, RpcError> {
        let (key, exists) = match reference {
            CompletionReference::Prompt(prompt) => {
                (CompletionKey::Prompt(prompt.name.clone()), self.prompts.get(&prompt.name).is_some())
            }
            CompletionReference::Resource(resource) => {
                let known = self.templates.get(&resource.uri).is_some() || self.find_resource(&resource.uri).is_some();
                (CompletionKey::Resource(resource.uri.clone()), known)
            }
            _ => return Err(RpcError::invalid_params("completion is for prompts and resources only")),
        };
        let completions = self.rare.as_ref().map(|rare| &rare.completions);
        match completions.and_then(|completions| completions.get(&(key, argument.to_owned()))) {
            Some(handler) => Ok(Some(handler)),
            None if exists => Ok(None),
            None => Err(RpcError::invalid_params("there is no such prompt or resource to complete")),
        }
    }
}

/// Named entries in the order in which they were added. The place of an entry never changes, so it makes a cursor that
/// stays right while others come and go.
#[derive(Clone, Debug)]
pub(super) struct Offers<D, H> {
    entries: Table<u64, Box<(D, H)>>,
    places: Table<Arc<str>, u64>,
    next: u64,
}

impl<D, H> Offers<D, H> {
    fn new() -> Self {
        Self { entries: Table::new(), places: Table::new(), next: 0 }
    }

    fn insert(&mut self, name: String, entry: D, handler: H) {
        let place = self.places.find(|known| (**known).cmp(&name)).map(|(_, &place)| place);
        let place = place.unwrap_or_else(|| {
            self.next += 1;
            self.places.insert(name.into(), self.next);
            self.next
        });
        self.entries.insert(place, Box::new((entry, handler)));
    }

    /// Whether there ever was an entry: what was declared to clients stays declared.
    pub(super) fn were_offered(&self) -> bool {
        self.next > 0
    }

    fn fit(&mut self) {
        self.entries.fit();
        self.places.fit();
    }

    fn remove(&mut self, name: &str) -> bool {
        let place = self.places.remove(&name.into());
        place.is_some_and(|place| self.entries.remove(&place).is_some())
    }

    /// An entry and its name, to be shared.
    pub(super) fn get(&self, name: &str) -> Option<(&Arc<str>, &D, &H)> {
        let (name, place) = self.places.find(|known| (**known).cmp(name))?;
        let (entry, handler) = &**self.entries.get(place)?;
        Some((name, entry, handler))
    }

    fn iter(&self) -> impl Iterator<Item = &(D, H)> {
        self.entries.iter().map(|(_, entry)| &**entry)
    }

    /// The entries from `cursor` on, and the cursor of the next page.
    pub(super) fn page(&self, cursor: Option<&str>, size: usize) -> Result<(Vec<&D>, Option<String>), RpcError> {
        let after = match cursor {
            None => 0,
            // Only what could have been given is taken: any text would be a number in some spelling.
            Some(cursor) => u64::from_str_radix(cursor, 36)
                .ok()
                .filter(|&place| (1..=self.next).contains(&place) && cursor_for(place) == cursor)
                .ok_or_else(|| RpcError::invalid_params("the cursor is none that this server gave"))?,
        };
        let mut rest = self.entries.iter().skip_while(|&(&place, _)| place <= after);
        let mut page = Vec::new();
        let mut last = after;
        for (&place, entry) in rest.by_ref().take(size.max(1)) {
            page.push(&entry.0);
            last = place;
        }
        let next = rest.next().map(|_| cursor_for(last));
        Ok((page, next))
    }
}

fn cursor_for(mut place: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((place % 36) as u32, 36).unwrap_or('0'));
        place /= 36;
        if place == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}
