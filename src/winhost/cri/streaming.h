#pragma once
#include <map>
#include <string>
#include <variant>

#include "net/http/http.h"
#include "net/streams/port_forward.h"
#include "net/streams/remote_command.h"
#include "winhost/runtime/runtime.h"

namespace porthole::winhost {

/// Serves the streams of exec, attach and port-forward under addresses that are valid for one connection and one minute.
class StreamingServer final : public net::HttpHandler, public StreamAddresses {
public:
    /// `runtime` outlives it.
    StreamingServer(AsioLoop& loop, Random& random, Runtime& runtime) : loop_(loop), random_(random), runtime_(runtime) {}

    /// "http://127.0.0.1:40001", once known.
    void set_base(std::string base) { base_ = std::move(base); }

    std::string exec(cri::ExecRequest request) override { return remember("exec", std::move(request)); }
    std::string attach(cri::AttachRequest request) override { return remember("attach", std::move(request)); }
    std::string port_forward(cri::PortForwardRequest request) override { return remember("portforward", std::move(request)); }

    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override;

private:
    using Wanted = std::variant<cri::ExecRequest, cri::AttachRequest, cri::PortForwardRequest>;
    struct Entry {
        MonotonicTime until;
        Wanted wanted;
    };
    std::string remember(const char* kind, Wanted wanted);
    Task<> serve(Wanted wanted, net::HttpRequest request, net::HttpResponder& responder);
    Task<> serve_exec(cri::ExecRequest wanted, net::HttpRequest request, net::HttpResponder& responder);
    Task<> serve_attach(cri::AttachRequest wanted, net::HttpRequest request, net::HttpResponder& responder);
    Task<> serve_port_forward(std::string sandbox_id, net::HttpRequest request, net::HttpResponder& responder);

    AsioLoop& loop_;
    Random& random_;
    Runtime& runtime_;
    std::string base_;
    std::map<std::string, Entry> entries_;
};

}  // namespace porthole::winhost
