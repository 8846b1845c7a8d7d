#pragma once
#include "net/streams/spdy.h"
#include "net/streams/websocket.h"

namespace porthole::net {

/// The streams that exec or attach requested.
struct RemoteCommandOptions {
    bool input = false;
    bool output = false;
    bool errors = false;
    bool tty = false;  ///< if true, there are resize messages and no error stream
};

/// One exec or attach connection over any transport: SPDY/3.1 with the protocols v1 to v4, WebSocket with v1, v4 and v5 and their base64
/// variants. The server reads input and resize and writes the others; the client does the reverse. Streams that were not requested, or that
/// the protocol lacks, are null. Destroying it drops the connection.
class RemoteCommand {
public:
    virtual ~RemoteCommand() = default;

    std::unique_ptr<ByteStream> input, output, errors;
    std::unique_ptr<ByteStream> status;  ///< how the command ended: see remote_command_status()
    std::unique_ptr<ByteStream> resize;  ///< a sequence of JSON objects {"Width":80,"Height":24}

    /// Protocol version, 1 to 5. From 4 on the status is a `Status` in JSON, before that it is text.
    virtual int version() const = 0;
    /// Ends the connection in order: pending output is sent first. Returns immediately.
    virtual void close() = 0;
    /// Waits until either side has ended the connection. Error: Cancelled.
    virtual Task<> wait_over() = 0;
};

/// The content of the status stream when a command has ended with an exit code or could not be run.
std::string remote_command_status(int version, const Result<int>& exit_code);
/// The reverse. Error: the status' own error, Unavailable if it is cut off.
Result<int> parse_remote_command_status(int version, const std::string& status);

/// Server: answers the upgrade (GET or POST) and waits for the streams. Error: BadRequest or Forbidden, with nothing sent, if the request
/// does not ask for an upgrade or offers no known protocol; Timeout if the client opens too few streams.
Task<std::unique_ptr<RemoteCommand>> accept_remote_command(EventLoop& loop, const HttpRequest& request, HttpResponder& responder,
                                                           RemoteCommandOptions options);
/// Server: writes the status, ends every stream and closes.
Task<> finish_remote_command(RemoteCommand& command, Result<int> exit_code);

/// Client over SPDY, as container runtimes serve it. `target` is the path with its query. Offers the protocols from `highest_version` (at
/// most 4) down. Error: reason and text of a server's answer other than 101.
Task<std::unique_ptr<RemoteCommand>> connect_remote_command(EventLoop& loop, HttpClient& client, std::string target,
                                                            RemoteCommandOptions options, int highest_version = 4);

/// Connects one session to another (on a node, between its API and the container runtime) until the command has ended or either side
/// disconnects; then closes both. Both must outlive the task.
Task<> bridge_remote_commands(EventLoop& loop, RemoteCommand& server_side, RemoteCommand& client_side);

}  // namespace porthole::net
