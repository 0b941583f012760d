//! Where a browser on this machine is sent back to.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use windlass::auth::Redirected;

#[cfg(unix)]
use crate::Login;

/// How long a browser may take to say what it wants. Some open connections that they never use.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// Connections at a time. A browser has six to one host.
const CONNECTIONS: usize = 16;

/// How many who came back are kept until somebody asks for them. Any page can send a browser here, as often as it likes.
const ARRIVALS: usize = 32;

/// How long nobody is let in when the system has no place for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Bytes of a request's head: codes and states are long at some servers, and cookies come along.
const HEAD_BYTES: usize = 32 * 1024;

/// A page of this machine's own, on a port that the system chose, to which users are sent back when they have logged in.
/// Several at once do not disturb each other.
///
/// ```no_run
/// use std::sync::Arc;
/// use std::time::Duration;
/// use windlass_host::Login;
/// use windlass_host::auth::{AuthConfig, Grant, LoopbackRedirect};
///
/// let back = Arc::new(LoopbackRedirect::bind()?);
/// let config = AuthConfig::new(Grant::code(back.redirect_uri()));
/// // This goes into `on_login` of a client's builder.
/// let on_login = move |login: Login| {
///     println!("{:?}", login.prompt());
///     back.finish(login, Duration::from_secs(300));
/// };
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LoopbackRedirect {
    port: u16,
    arrivals: Arc<Arrivals>,
    listener: TcpListener,
}

/// Those who came back, and whom nobody has asked for yet. Each is for one login, and all logins look here.
#[derive(Debug, Default)]
struct Arrivals {
    waiting: Mutex<VecDeque<Redirected>>,
    came: Condvar,
}

impl Arrivals {
    fn add(&self, redirected: Redirected) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == ARRIVALS {
            waiting.pop_front();
        }
        waiting.push_back(redirected);
        self.came.notify_all();
    }

    /// The first that is wanted, and leaves the others to others.
    fn take(&self, at_most: Duration, is_wanted: impl Fn(&Redirected) -> bool) -> Option<Redirected> {
        let began = Instant::now();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(at) = waiting.iter().position(&is_wanted) {
                return waiting.remove(at);
            }
            let left = at_most.saturating_sub(began.elapsed());
            if left.is_zero() {
                return None;
            }
            waiting = self.came.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The path of the page.
const PATH: &str = "/callback";

impl LoopbackRedirect {
    /// Listens on 127.0.0.1, for as long as this lives.
    ///
    /// # Errors
    ///
    /// When there is no port or no thread to be had.
    pub fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let arrivals = Arc::<Arrivals>::default();
        let (accepting, found) = (listener.try_clone()?, arrivals.clone());
        std::thread::Builder::new().name("windlass-redirect".into()).spawn(move || accept(&accepting, &found))?;
        Ok(Self { port, arrivals, listener })
    }

    /// Where users are to be sent back to.
    pub fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the user to come back from this login, on a thread, and goes on with it. If nobody comes in time it is given
    /// up.
    #[cfg(unix)]
    pub fn finish(self: &Arc<Self>, login: Login, at_most: Duration) {
        let back = self.clone();
        // Without a thread the login is dropped, and so given up.
        let _ = std::thread::Builder::new().name("windlass-login".into()).spawn(move || {
            // Any page can send a browser here; only who knows the state comes from this login.
            let redirected = back.arrivals.take(at_most, |redirected| login.is_answered_by(redirected));
            if let Some(redirected) = redirected {
                login.finish(redirected);
            }
        });
    }

    /// Waits for the user to come back, from whichever login.
    ///
    /// # Errors
    ///
    /// When nobody comes in time.
    pub fn wait(&self, at_most: Duration) -> io::Result<Redirected> {
        let came = self.arrivals.take(at_most, |_| true);
        came.ok_or_else(|| io::Error::new(io::ErrorKind::TimedOut, "nobody logged in in time"))
    }
}

impl Drop for LoopbackRedirect {
    fn drop(&mut self) {
        // The thread waits for a connection: this is the last one.
        let _ = self.listener.set_nonblocking(true);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn accept(listener: &TcpListener, found: &Arc<Arrivals>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // When the handle is gone, the listener does not wait any more.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            // The system has no place for one more, or that one is gone already.
            Err(_) => {
                std::thread::sleep(PAUSE);
                continue;
            }
        };
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (count, found) = (open.clone(), found.clone());
        let serve = move || {
            let _ = serve(stream, &found);
            count.fetch_sub(1, Ordering::Relaxed);
        };
        if std::thread::Builder::new().name("windlass-redirect".into()).spawn(serve).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Answers one request.
fn serve(mut stream: TcpStream, found: &Arrivals) -> io::Result<()> {
    let until = Instant::now() + REQUEST_TIME;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > HEAD_BYTES {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        let mut part = [0; 4096];
        match stream.read(&mut part)? {
            0 => return Ok(()),
            count => head.extend_from_slice(&part[..count]),
        }
    }
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    let line = String::from_utf8_lossy(&head);
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if method != "GET" || path != PATH || query.is_empty() {
        return answer(&mut stream, "404 Not Found", "There is nothing here.");
    }
    let redirected = Redirected::from_url(query);
    let told = match &redirected.outcome {
        Ok(_) => "You have logged in. You can close this window.",
        // What somebody else wrote is not shown: it may be a page.
        Err(_) => "The login was refused. You can close this window; the program says more.",
    };
    // Whether or not the browser stays to read it.
    found.add(redirected);
    answer(&mut stream, "200 OK", told)
}

fn answer(stream: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(back: &LoopbackRedirect, target: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, back.port)).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn whoever_comes_back_is_told_to_whoever_waits_and_others_are_not() {
        let (one, other) = (LoopbackRedirect::bind().unwrap(), LoopbackRedirect::bind().unwrap());
        // A browser that says nothing, and one that wants a picture.
        let _silent = TcpStream::connect((Ipv4Addr::LOCALHOST, one.port)).unwrap();
        assert!(get(&one, "/favicon.ico").starts_with("HTTP/1.1 404 "));
        assert!(get(&one, "/callback?code=c&state=s").starts_with("HTTP/1.1 200 "));
        let redirected = one.wait(Duration::from_secs(10)).unwrap();
        assert_eq!((redirected.state.expose(), redirected.outcome.unwrap().expose()), ("s", "c"));
        let refused = get(&other, "/callback?error=access_denied&error_description=%3Cscript%3E&state=t");
        assert!(!refused.contains("script"), "{refused}");
        assert!(other.wait(Duration::from_secs(10)).unwrap().outcome.is_err());
        assert!(one.wait(Duration::ZERO).is_err());
    }

    #[test]
    fn each_of_several_logins_gets_what_is_its_own() {
        let back = Arc::new(LoopbackRedirect::bind().unwrap());
        let (told, heard) = std::sync::mpsc::channel();
        let threads: Vec<_> = ["one", "other"]
            .into_iter()
            .map(|state| {
                let (back, told) = (back.clone(), told.clone());
                std::thread::spawn(move || {
                    let is_ours = |redirected: &Redirected| redirected.state.expose() == state;
                    told.send(back.arrivals.take(Duration::from_secs(20), is_ours).map(|_| state)).unwrap();
                })
            })
            .collect();
        for state in ["nobody", "other", "one"] {
            get(&back, &format!("/callback?code=c&state={state}"));
            if state != "nobody" {
                assert_eq!(heard.recv_timeout(Duration::from_secs(10)), Ok(Some(state)));
            }
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // What nobody asks for does not pile up.
        for _ in 0..ARRIVALS + 5 {
            get(&back, "/callback?code=c&state=nobody");
        }
        assert_eq!(back.arrivals.waiting.lock().unwrap().len(), ARRIVALS);
    }

    #[test]
    fn nobody_listens_any_more_when_nobody_waits() {
        let back = LoopbackRedirect::bind().unwrap();
        let port = back.port;
        drop(back);
        // The thread has one connection to notice it by.
        let gone = (0..100).any(|_| {
            std::thread::yield_now();
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err()
        });
        assert!(gone);
    }
}
