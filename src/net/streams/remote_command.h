#pragma once
#include "net/streams/spdy.h"
#include "net/streams/websocket.h"

namespace porthole::net {

/// Which streams exec or attach was asked for.
struct RemoteCommandOptions {
    bool input = false;
    bool output = false;
    bool errors = false;
    bool tty = false;  ///< then there are resize messages, and no stream of errors
};

/// One exec or attach connection, whatever carries it: SPDY/3.1 with the protocols v1 to v4, WebSocket with v1, v4 and
/// v5 and their base64 variants. The server reads input and resize and writes the others; the client the other way
/// round. Streams that were not asked for (or that the protocol lacks) are null. Destroying it drops the connection.
class RemoteCommand {
public:
    virtual ~RemoteCommand() = default;

    std::unique_ptr<ByteStream> input, output, errors;
    std::unique_ptr<ByteStream> status;  ///< how it ended: see remote_command_status()
    std::unique_ptr<ByteStream> resize;  ///< one JSON {"Width":80,"Height":24} after another

    /// Of the protocol, 1 to 5. From 4 the status is a `Status` in JSON, before it is text.
    virtual int version() const = 0;
    /// Ends the connection in good order: what was written goes out first. Returns at once.
    virtual void close() = 0;
    /// Waits until either side has ended the connection. Error: Cancelled.
    virtual Task<> wait_over() = 0;
};

/// What goes into the status stream when a command has ended with an exit code, or could not be run.
std::string remote_command_status(int version, const Result<int>& exit_code);
/// The other way round. Error: what the status says, Unavailable if it is cut off.
Result<int> parse_remote_command_status(int version, const std::string& status);

/// Server: answers the upgrade (GET or POST) and waits for the streams. Error: BadRequest or Forbidden with nothing
/// sent yet when the request does not ask for an upgrade or offers no known protocol; Timeout when the client opens too few streams.
Task<std::unique_ptr<RemoteCommand>> accept_remote_command(EventLoop& loop, const HttpRequest& request, HttpResponder& responder,
                                                           RemoteCommandOptions options);
/// Server: writes the status, ends every stream and closes.
Task<> finish_remote_command(RemoteCommand& command, Result<int> exit_code);

/// Client over SPDY, as container runtimes serve it. `target` is the path with its query. Offers the protocols from
/// `highest_version` (at most 4) down. Error: what the server answered instead of 101, as its reason and text.
Task<std::unique_ptr<RemoteCommand>> connect_remote_command(EventLoop& loop, HttpClient& client, std::string target,
                                                            RemoteCommandOptions options, int highest_version = 4);

/// Carries one connection on to another (a node's, between its API and the container runtime) until the command has
/// ended or either side leaves; then closes both. Both must outlive the task.
Task<> bridge_remote_commands(EventLoop& loop, RemoteCommand& server_side, RemoteCommand& client_side);

}  // namespace porthole::net
