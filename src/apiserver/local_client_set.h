#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "apiserver/local_transport.h"
#include "client/client.h"

namespace porthole::apiserver {

/// Clients of the API in this process, by the user name of each, created on first use. Used from one loop. Closed on the server's loop,
/// after all users of the clients have ended and before it is destroyed.
class LocalClientSet {
public:
    using Open = std::function<std::unique_ptr<LocalTransport>(const std::string& name)>;
    explicit LocalClientSet(Open open) : open_(std::move(open)) {}

    /// Valid as long as this.
    client::Client& of(const std::string& name);
    Task<> close();

private:
    struct Entry {
        explicit Entry(std::unique_ptr<LocalTransport> made) : transport(std::move(made)) {}
        std::unique_ptr<LocalTransport> transport;
        client::Client client{*transport};
    };
    Open open_;
    std::map<std::string, Entry> entries_;
};

}  // namespace porthole::apiserver
