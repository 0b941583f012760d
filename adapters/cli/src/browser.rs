//! Opening a page in the user's browser.

use std::process::{Command, Stdio};

use windlass::link::http::Url;

use crate::address::is_on_this_machine;

/// Has the system open a page, or says why not. What becomes of it is not known.
///
/// The address comes from a server. It is one argument of a program, and no shell sees it; and it is a page of the web that
/// is encrypted, or one of this machine, so that no other program than a browser is opened for it.
pub(crate) fn open(address: &str) -> Result<(), String> {
    if !may_be_opened(address) {
        return Err("the page is neither one with https nor one of this machine".into());
    }
    if !has_screen() {
        return Err("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".into());
    }
    let mut command = opener(address);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C is for us, and not for a browser that we happened to start.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
    // It is of no interest how it ends, but that somebody has to ask.
    let _ = std::thread::Builder::new().name("browser".into()).spawn(move || child.wait());
    Ok(())
}

fn opener(address: &str) -> Command {
    let (program, before): (_, &[&str]) = if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else if cfg!(target_os = "macos") {
        ("open", &[])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(before).arg(address);
    command
}

/// Whether there is a screen for a browser to be on. Without one some systems start browsers that take the terminal.
fn has_screen() -> bool {
    const SIGNS: [&str; 4] = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"];
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos")) || SIGNS.into_iter().any(is_set)
}

fn may_be_opened(address: &str) -> bool {
    let graphic = address.bytes().all(|byte| byte.is_ascii_graphic());
    graphic && Url::parse(address).is_ok_and(|url| url.is_secure() || is_on_this_machine(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_are_opened() {
        for page in ["https://auth.example/authorize?a=b", "http://127.0.0.1:8080/", "http://localhost/x"] {
            assert!(may_be_opened(page), "{page}");
            assert_eq!(opener(page).get_args().last().unwrap(), page);
        }
        for other in [
            "http://auth.example/",
            "http://192.168.0.1/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "--version",
            "-https://h",
            "/bin/sh",
            "https://h/ --x",
            "https://h/#\u{1b}",
            "https://a@h/",
            "",
        ] {
            assert!(!may_be_opened(other), "{other}");
        }
    }
}
