//! The client commands and the demo server, once for every runtime. The handles of all adapters have the same names;
//! what differs is whether a function is `async` and a call is followed by `.await`, so there is one text for all five.

use crate::command_run::CommandRun;
use crate::failure::Failure;
use crate::invocation::{Place, Runtime};

/// Runs a client command.
pub(crate) fn client(command: CommandRun) -> Result<(), Failure> {
    match command.options.runtime {
        Runtime::Blocking => blocking::client(command),
        Runtime::Mio => mio::client(command),
        Runtime::Tokio => tokio::client(command),
        Runtime::AsyncStd => async_std::client(command),
        Runtime::Smol => smol::client(command),
    }
}

/// Is the demo server until its client is done, or until Ctrl-C.
pub(crate) fn serve(runtime: Runtime, place: Place) -> Result<(), Failure> {
    if place == Place::Stdio {
        crate::demo::greet_people();
    }
    match runtime {
        Runtime::Blocking => blocking::serve(place),
        Runtime::Mio => mio::serve(place),
        Runtime::Tokio => tokio::serve(place),
        Runtime::AsyncStd => async_std::serve(place),
        Runtime::Smol => smol::serve(place),
    }
}

/// Makes the module of one runtime from: its name; the adapter's crate; `async` for functions, if any; `async move` for
/// closures, if any; `.await`, if any; how to pause; how to ask the user; how to
/// wait for Ctrl-C.
macro_rules! runtime {
    (
        $name:ident, $adapter:ident, [$($async:tt)*], [$($async_move:tt)*], [$($await:tt)*],
        pause: $pause:expr, ask: $ask:expr, interrupt: $interrupt:expr
    ) => {
        mod $name {
            use std::time::Instant;

            use $adapter::{Client, Context, Error, HttpListener, Server, ServerBuilder, run};
            use windlass::CallError;
            use windlass::model::CallToolResult;
            use windlass::server::HandlerError;

            use crate::demo::{self, chart, code_review, convert, countdown, echo, greet, guide, word_count};
            use crate::failure::{Failure, FailureKind};
            use crate::interrupt::Interrupt;
            use crate::listing::{self, Listing};
            use crate::{output, reach};
            use crate::command_run::CommandRun;
            use crate::tour;
            use crate::invocation::{Place, Request, ToolCall};

            pub(super) fn client(command: CommandRun) -> Result<(), Failure> {
                command.conclude(run(perform(&command)))
            }

            $($async)* fn perform(command: &CommandRun) -> Result<(), Failure> {
                let (screen, notified, skipped) =
                    (command.screen.clone(), command.screen.clone(), command.screen.clone());
                let builder = Client::builder("windlass", env!("CARGO_PKG_VERSION"))
                    .configure(|config| command.configure(config))
                    .closer(command.watch.closer())
                    .on_elicit_with_urls(move |params| {
                        let screen = screen.clone();
                        $($async_move)* { Ok($ask(screen, params)$($await)*) }
                    })
                    .on_notification(move |notification| notified.notification(&notification))
                    .on_malformed(move |detail| skipped.note(&detail));
                let builder = match command.login_handler() {
                    Some(handler) => builder.on_login(handler),
                    None => builder,
                };
                let client = match builder.connect(command.connector()?)$($await)* {
                    Ok(client) => client,
                    Err(error) => return command.not_connected(error),
                };
                let outcome = match &command.request {
                    Request::Tour => tour(&client, command)$($await)*,
                    Request::List(_) => list(&client, command)$($await)*,
                    Request::Call(_, tool_call) => call(&client, command, tool_call.clone())$($await)*,
                    Request::Ping(_) => ping(&client, command)$($await)*,
                    Request::Login(..) => login(&client, command)$($await)*,
                };
                // Whatever came of it, nothing of the server is left behind.
                client.close()$($await)*;
                outcome
            }

            $($async)* fn tour(client: &Client, command: &CommandRun) -> Result<(), Failure> {
                let listing = listing(client)$($await)*?;
                output::print(&tour::opening(&command.options, &listing));
                for (typed, tool_call) in tour::calls() {
                    output::print(&typed);
                    call(client, command, tool_call)$($await)*?;
                }
                output::print(tour::CLOSING);
                Ok(())
            }

            $($async)* fn list(client: &Client, command: &CommandRun) -> Result<(), Failure> {
                command.show_listing(&listing(client)$($await)*?);
                Ok(())
            }

            /// Asks for what the server declares to have.
            $($async)* fn listing(client: &Client) -> Result<Listing, Error> {
                let peer = client.peer();
                let mut listing = Listing::new(peer.clone());
                if peer.capabilities.tools.is_some() {
                    listing.tools = Some(client.list_tools()$($await)*?);
                }
                if peer.capabilities.resources.is_some() {
                    listing.resources = Some(client.list_resources()$($await)*?);
                    listing.resource_templates = listing::if_known(client.list_resource_templates()$($await)*)?;
                }
                if peer.capabilities.prompts.is_some() {
                    listing.prompts = Some(client.list_prompts()$($await)*?);
                }
                Ok(listing)
            }

            $($async)* fn call(client: &Client, command: &CommandRun, tool_call: ToolCall) -> Result<(), Failure> {
                let ToolCall { tool, arguments } = tool_call;
                // A tool that is not listed is for the server to judge.
                let listed = match arguments.need_schema() {
                    true => client.list_tools()$($await)*?.into_iter().find(|listed| listed.name == tool),
                    false => None,
                };
                let schema = listed.as_ref().map(|tool| &tool.input_schema);
                let arguments = arguments.into_object(schema).map_err(Failure::usage)?;
                let screen = command.screen.clone();
                let watched = client.on_progress(move |progress| screen.progress(&progress));
                let result = watched.call_tool(&tool, &arguments)$($await)*;
                command.screen.finish_line();
                command.show_result(&result?)
            }

            $($async)* fn ping(client: &Client, command: &CommandRun) -> Result<(), Failure> {
                let start = Instant::now();
                client.ping()$($await)*?;
                command.show_ping(&client.peer(), start.elapsed());
                Ok(())
            }

            $($async)* fn login(client: &Client, command: &CommandRun) -> Result<(), Failure> {
                // Some let everybody look around, and want a login for the rest.
                if command.nothing_granted() && client.peer().capabilities.tools.is_some() {
                    let listed = client.list_tools()$($await)*;
                    if let Err(Error::Call(CallError::Authorization(error))) = listed {
                        return Err(Error::Call(CallError::Authorization(error)).into());
                    }
                }
                command.show_login(&client.peer());
                Ok(())
            }

            pub(super) fn serve(place: Place) -> Result<(), Failure> {
                run(serve_demo(place))
            }

            $($async)* fn serve_demo(place: Place) -> Result<(), Failure> {
                match place {
                    Place::Stdio => Ok(demo()?.serve_stdio()$($await)*?),
                    Place::Http(place) => {
                        let interrupt = Interrupt::new().map_err(Failure::of_the_system)?;
                        let tls = place.certificate.as_ref().map(crate::address::certificate).transpose()?;
                        let listener = HttpListener::bind(&place.address)
                            .map_err(|error| Failure::not_bound(&place.address, &error))?;
                        let listener = match tls {
                            Some(tls) => listener.with_tls(tls),
                            None => listener,
                        };
                        let url = listener.url("/mcp");
                        let config = reach::configuration(&place, &listener);
                        let told = reach::announcement(&place, &config, &listener);
                        let server = demo()?.http(config).start_http(listener).map_err(Failure::of_the_system)?;
                        output::tell(&told);
                        output::print(&format!("{url}\n"));
                        demo::greet_people_at(&url);
                        $interrupt(interrupt)$($await)*;
                        Ok(server.close()$($await)*?)
                    }
                }
            }

            fn demo() -> Result<ServerBuilder, Failure> {
                let builder = Server::builder(demo::NAME, env!("CARGO_PKG_VERSION"))
                    .instructions(demo::INSTRUCTIONS)
                    .tool(echo::definition(), |_, arguments| $($async_move)* { echo::run(arguments) })
                    .tool(word_count::definition(), |_, arguments| $($async_move)* { word_count::run(&arguments) })
                    .tool(chart::definition(), |_, arguments| $($async_move)* { chart::run(&arguments) })
                    .tool(countdown::definition(), count_down)
                    .tool(greet::definition(), |context, arguments| {
                        $($async_move)* { greet::run(&context, &arguments) }
                    })
                    .resource(guide::definition(), |_, _| $($async_move)* { Ok(guide::read()) })
                    .resource_template(convert::definition(), |_, request| $($async_move)* { convert::read(&request) })
                    .map_err(|error| Failure::new(FailureKind::Server, error.to_string()))?
                    .resource_completion(convert::TEMPLATE, "from", |_, asked| {
                        $($async_move)* { Ok(convert::complete(&asked)) }
                    })
                    .resource_completion(convert::TEMPLATE, "to", |_, asked| {
                        $($async_move)* { Ok(convert::complete(&asked)) }
                    })
                    .prompt(code_review::definition(), |_, arguments| {
                        $($async_move)* { code_review::fill_in(&arguments) }
                    })
                    .prompt_completion(code_review::NAME, "language", |_, asked| {
                        $($async_move)* { Ok(code_review::complete(&asked)) }
                    });
                Ok(builder)
            }

            /// The one handler that has to wait.
            $($async)* fn count_down(
                context: Context,
                arguments: countdown::Arguments,
            ) -> Result<CallToolResult, HandlerError> {
                let plan = arguments.plan()?;
                for step in 1..=plan.steps {
                    $pause(plan.interval)$($await)*;
                    plan.report(&context, step)?;
                }
                Ok(plan.done())
            }
        }
    };
}

runtime!(
    blocking, windlass_blocking, [], [], [],
    pause: std::thread::sleep, ask: crate::ask::user, interrupt: Interrupt::wait
);
runtime!(
    mio, windlass_mio, [], [], [],
    pause: std::thread::sleep, ask: crate::ask::user, interrupt: Interrupt::wait
);
runtime!(
    tokio, windlass_tokio, [async], [async move], [.await],
    pause: ::tokio::time::sleep, ask: crate::ask::user_aside, interrupt: Interrupt::wait_aside
);
runtime!(
    async_std, windlass_async_std, [async], [async move], [.await],
    pause: ::async_std::task::sleep, ask: crate::ask::user_aside, interrupt: Interrupt::wait_aside
);
runtime!(
    smol, windlass_smol, [async], [async move], [.await],
    pause: ::smol::Timer::after, ask: crate::ask::user_aside, interrupt: Interrupt::wait_aside
);
