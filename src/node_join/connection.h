#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/client.h"
#include "client/kubeconfig.h"
#include "client/transport.h"
#include "node_join/key_pair.h"
#include "runtime/random.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::node_join {

/// A transport to the API that can be replaced while in use: calls in progress end on the old one, new calls use the new one. Owns all of
/// them until it is destroyed.
class RenewableTransport final : public client::Transport {
public:
    explicit RenewableTransport(std::unique_ptr<client::Transport> first) : current_(std::move(first)) {}

    void replace(std::unique_ptr<client::Transport> next) {
        retired_.push_back(std::move(current_));
        current_ = std::move(next);
    }

    Task<client::ApiResponse> call(client::ApiRequest request) override { return current_->call(std::move(request)); }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest request) override { return current_->watch(std::move(request)); }

private:
    std::unique_ptr<client::Transport> current_;
    std::vector<std::unique_ptr<client::Transport>> retired_;  ///< open streams may still read from them; one in eight months
};

/// A node program's connection to the cluster, from its kubeconfig. The certificate that the kubeconfig names can be replaced; requests in
/// progress end with the old one. Lives on one loop; owns the transport, whose users must end before it.
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
    /// Both require a successful open(); the transport stays the same for as long as this object exists.
    client::Transport& transport() { return *transport_; }
    const client::ClientConfig& config() const { return config_; }
    /// The directory in which `join` has written the identity; nullopt for other kubeconfigs. Requires: open().
    const std::optional<std::filesystem::path>& own_folder() const { return own_folder_; }
    /// A server's URL as seen from this machine, even if config() names the machine's own balancer: to find the address with which the
    /// machine reaches it.
    std::string server_behind() const;
    /// Called on the loop after each change of config().
    void on_change(std::function<void()> told) { told_ = std::move(told); }

    /// Renews the identity that `join` has written; one that another program maintains is only read again, as by follow(). Until cancelled.
    Task<> renew(std::string node_name);
    /// Uses the authorities that the cluster publishes, as soon as they verify the server, and writes them to ca.crt if `join` has written
    /// that. The certificate is renewed when another authority begins to sign. Until cancelled.
    Task<> follow_authority();
    /// Uses changes of the kubeconfig's files within a minute; unreadable ones are logged. Until cancelled.
    Task<> follow();

private:
    Result<client::ClientConfig> read();
    Result<void> take(client::ClientConfig next);
    void adopt(client::ClientConfig next, std::unique_ptr<client::Transport> way);
    Task<> take_authority(std::string ca_pem);
    /// Whether the certificate is of an authority that is being replaced.
    bool is_of_an_old_authority() const;
    Result<void> take_renewed(const KeyPair& identity);

    Seams seams_;
    std::string kubeconfig_, server_;
    std::optional<std::filesystem::path> own_folder_;  ///< of the identity, where `join` has written it
    client::ClientConfig config_;
    std::string renewed_for_;  ///< the authorities for which the certificate was last renewed
    std::unique_ptr<RenewableTransport> transport_;
    std::function<void()> told_;
};

NodeConnection::Connect connect_by_http(AsioLoop& loop, std::string user_agent);

}  // namespace porthole::node_join
