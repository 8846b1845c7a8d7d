#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "client/client.h"
#include "client/kubeconfig.h"
#include "node_join/key_pair.h"
#include "node_join/renewable_transport.h"
#include "runtime/random.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::node_join {

/// A node program's way to the cluster: what its kubeconfig says, while the certificate that the kubeconfig names is replaced by newer
/// ones. What has begun ends on the old way.
class NodeConnection {
public:
    using Connect = std::function<Result<std::unique_ptr<client::Transport>>(const client::ClientConfig&)>;
    struct Seams {
        EventLoop& loop;
        FileSystem& files;
        Random& random;
        Connect connect;
        Logger log;
    };
    explicit NodeConnection(Seams seams) : seams_(std::move(seams)) {}

    /// `server` wins over the kubeconfig's unless it is "". Errors: as read_kubeconfig and Kubeconfig::resolve.
    Result<void> open(std::string kubeconfig, std::string server = "");
    /// Both are there once it is open; the transport stays for as long as this object.
    client::Transport& transport() { return *transport_; }
    const client::ClientConfig& config() const { return config_; }
    /// Called on the loop after each change of config().
    void on_change(std::function<void()> told) { told_ = std::move(told); }

    /// Renews the identity that `join` has written; one that somebody else keeps is theirs to renew, and is followed. Until cancelled.
    Task<> renew(std::string node_name);
    /// Takes what others write into the kubeconfig's files, within a minute. Until cancelled.
    Task<> follow();

private:
    Result<client::ClientConfig> read();
    Result<void> take(client::ClientConfig next);
    Result<void> take_renewed(const KeyPair& identity);

    Seams seams_;
    std::string kubeconfig_, server_;
    std::optional<std::filesystem::path> own_folder_;  ///< of the identity, where `join` has written it
    client::ClientConfig config_;
    std::unique_ptr<RenewableTransport> transport_;
    std::function<void()> told_;
};

NodeConnection::Connect connect_by_http(AsioLoop& loop, std::string user_agent);

}  // namespace porthole::node_join
