//! From redirects to places: where the endpoint is for now, and where it has moved for good.

use super::exchange::{Exchange, Purpose};
use super::exchanges::Exchanges;
use super::request::HttpRequest;
use crate::codec::http1::Headers;
use crate::url::Url;

/// Where the endpoint has moved for good. What a server says of one method it need not mean of the other: a GET from a
/// browser may be sent to a page for people.
#[derive(Default)]
pub(super) struct Moved {
    gets: Option<Url>,
    others: Option<Url>,
}

impl Moved {
    fn of(&mut self, method: &str) -> &mut Option<Url> {
        if method == "GET" { &mut self.gets } else { &mut self.others }
    }
}

impl<T> Exchanges<T> {
    /// Where requests of this method go.
    pub(super) fn endpoint(&mut self, method: &str) -> Url {
        self.moved.of(method).as_ref().unwrap_or(&self.http.url).clone()
    }

    /// Follows a redirect, if it stays within the origin and means the same request.
    pub(super) fn redirected(&mut self, id: u32, status: u16, headers: &Headers) -> bool {
        let Some(exchange) = self.open.get(id) else { return false };
        let same_request = matches!(status, 307 | 308) || exchange.request.method == "GET";
        if matches!(exchange.purpose, Purpose::Authorization)
            || !matches!(status, 301 | 302 | 303 | 307 | 308)
            || !same_request
            || exchange.tried.redirects >= self.http.redirects
        {
            return false;
        }
        let Some(Ok(url)) = headers.get("location").map(|location| exchange.request.url.join(location)) else {
            return false;
        };
        if !url.is_same_origin(&self.http.url) {
            return false;
        }
        let request = HttpRequest { url, ..(*exchange.request).clone() };
        let Some(old) = self.drop_exchange(id) else { return false };
        let mut exchange = old.with_request(request);
        exchange.tried.redirects += 1;
        exchange.tried.elsewhere |= !matches!(status, 301 | 308);
        self.start(exchange);
        true
    }

    /// A request was answered as an MCP server answers: if the endpoint has moved there for good, that is remembered.
    pub(super) fn remember_redirect(&mut self, id: u32) {
        let Some(exchange) = self.open.get(id).filter(|exchange| self.has_moved(exchange)) else { return };
        *self.moved.of(exchange.request.method) = Some(exchange.request.url.clone());
    }

    /// A request was answered by something that is no MCP server: if that is where the endpoint had moved, it is not
    /// there any more.
    pub(super) fn forget_redirect(&mut self, exchange: &Exchange) {
        if self.has_moved(exchange) {
            *self.moved.of(exchange.request.method) = None;
        }
    }

    /// Makes a request again at the address that the program gave, if it went straight to where the endpoint had moved
    /// and nobody was there. Gives it back otherwise.
    pub(super) fn retry_at_original(&mut self, exchange: Exchange, status: u16) -> Option<Exchange> {
        let refused = matches!(status, 300..400 | 404 | 405 | 410);
        if !refused || !self.has_moved(&exchange) {
            return Some(exchange);
        }
        self.forget_redirect(&exchange);
        if exchange.tried.redirects > 0 || status < 400 {
            return Some(exchange);
        }
        let request = HttpRequest { url: self.http.url.clone(), ..(*exchange.request).clone() };
        let is_request = matches!(exchange.purpose, Purpose::Request(_));
        let mut exchange = exchange.with_request(request);
        exchange.deadline = Some(self.now + self.http.message_timeout).filter(|_| !is_request);
        self.start(exchange);
        None
    }

    fn has_moved(&self, exchange: &Exchange) -> bool {
        !exchange.tried.elsewhere && exchange.request.url != self.http.url
    }
}
