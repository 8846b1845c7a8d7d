#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/acceptor.h"
#include "runtime/asio_loop.h"
#include "schema/value.h"

namespace porthole::winhost {

/// The socket of a running host for its operator: `data`/control.sock. A connection carries one line of JSON each way:
///   {"call":"status"}                            {"ready":true,"name":"windows-1",...}
///   {"call":"fault","document":"..."}            the answer that the emulator's faults.h describes
///   {"call":"load","path":"/a/web.tar"}          {"images":["registry/app:1"]}
///   {"call":"reboot"}, {"call":"shutdown"}       {}
/// A failed call answers {"error":"...","code":404}.
std::string control_socket(const std::string& data);

/// Serves those calls. Add all handlers before listen(); what they refer to must outlive close(). Call that before destroying it.
class ControlServer {
public:
    using Call = std::function<Task<schema::Value>(schema::Value request)>;

    explicit ControlServer(AsioLoop& loop);
    void add(std::string call, Call handler) { calls_[std::move(call)] = std::move(handler); }
    /// Errors: AlreadyExists, Io.
    Result<void> listen(const std::string& path);
    Task<> close() { return acceptor_.close(); }

private:
    Task<> serve(net::Accepted accepted);
    Task<schema::Value> answer(std::string line);

    AsioLoop& loop_;
    std::map<std::string, Call> calls_;
    net::Acceptor acceptor_;
};

/// One call to the host with the directory `data`, without a time limit. Errors: Unavailable if none runs; the call's own.
Task<schema::Value> ask_host(AsioLoop& loop, std::string data, schema::Value request);

}  // namespace porthole::winhost
