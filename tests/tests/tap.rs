//! Whoever talks to a tapped program does not notice the tap.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A shell behind a tap, and the folder of its recording.
fn tapped(name: &str, script: &str) -> (Child, PathBuf) {
    started(name, &[], script)
}

fn started(name: &str, options: &[&str], script: &str) -> (Child, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tap"));
    command.args(options).arg(&folder).args(["here", "the test", "ours", "raw", "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    (command.spawn().unwrap(), folder)
}

fn recording(folder: &Path) -> String {
    let mut files = std::fs::read_dir(folder).unwrap();
    let text = std::fs::read_to_string(files.next().unwrap().unwrap().path()).unwrap();
    assert!(files.next().is_none());
    text
}

#[test]
fn both_directions_pass_and_are_recorded_in_order() {
    let (mut child, folder) = tapped("both_directions", "read first; echo \"got $first\"; read second; echo done");
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    input.write_all(b"one\n").unwrap();
    let mut answer = [0; 8];
    output.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"got one\n");
    input.write_all(b"two\nhalf a line").unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "done\n");
    child.wait().unwrap();
    let head = "# source: here\n# test: the test\n# client: ours\n# server: raw\n";
    assert_eq!(recording(&folder), format!("{head}> one\n< got one\n> two\n< done\n"));
}

#[test]
fn the_program_is_the_one_that_was_started() {
    let (child, _) = tapped("same_process", "echo $$; echo complaint >&2; exit 7");
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{pid}\n"));
    assert_eq!(output.stderr, b"complaint\n");
    assert_eq!(output.status.code(), Some(7));
    let (mut child, _) = tapped("killed", "kill -KILL $$");
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn the_end_of_each_direction_is_passed_on() {
    let (child, _) = tapped("end_of_input", "cat >/dev/null; echo over");
    // Which closes standard input first.
    assert_eq!(child.wait_with_output().unwrap().stdout, b"over\n");
    let (mut child, _) = tapped("end_of_output", "exec >&-; cat >/dev/null");
    assert_eq!(child.stdout.take().unwrap().read(&mut [0; 8]).unwrap(), 0);
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_program_that_does_not_read_any_more_is_noticed() {
    let (mut child, _) = tapped("deaf", "exec <&-; exec sleep 20");
    let mut input = child.stdin.take().unwrap();
    while input.write_all(b"anybody?\n").is_ok() {}
    assert!(child.try_wait().unwrap().is_none(), "it was noticed only because the program is over");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_client_that_does_not_read_any_more_is_noticed() {
    let (mut child, _) = tapped("unheard", "trap '' PIPE; while echo word; do :; done 2>/dev/null; exit 3");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_server_over_http_is_reached_through_the_tap() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!("echo http://{}/mcp; read end; echo the end", server.local_addr().unwrap());
    let (mut child, folder) = started("over_http", &["--http"], &script);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    output.read_line(&mut url).unwrap();
    let address = url.trim_end().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();

    let mut client = TcpStream::connect(address).unwrap();
    let (mut server, _) = server.accept().unwrap();
    client.write_all(b"a\r\n\xff").unwrap();
    let mut heard = [0; 4];
    server.read_exact(&mut heard).unwrap();
    server.write_all(b"b").unwrap();
    drop(server);
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!((&heard, &answer[..]), (b"a\r\n\xff", "b"));

    drop(child.stdin.take());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "the end\n", "what else it says is passed on");
    child.wait().unwrap();
    let recorded = recording(&folder);
    let head = "# source: here\n# test: the test\n# client: ours\n# server: raw\n# transport: http\n";
    assert!(recorded.starts_with(&format!("{head}> 1 a\\r\\n\\xff\n< 1 b\n<. 1\n")), "{recorded}");
}
