#pragma once
#include <functional>
#include <string>

#include "base/log.h"
#include "client/client.h"
#include "node_join/key_pair.h"
#include "runtime/random.h"

namespace porthole::node_join {

/// Asks the cluster for a client certificate as this node and waits until it is approved and issued. The client may be a bootstrap
/// token or the node itself. Errors: Unauthorized for a token that the server does not know; Forbidden when the request is denied;
/// Timeout when nobody has approved it within a minute.
Task<KeyPair> request_node_certificate(EventLoop& loop, client::Client& client, std::string node_name);

/// A certificate for the kubelet's server, signed by an authority that exists for a moment only. Error: BadRequest for a bad address.
Result<KeyPair> make_serving_certificate(const std::string& node_name, const std::string& address, SystemTime now);

/// When a certificate is to be renewed: after two thirds of its life, stretched by up to a tenth of it, so that the nodes of a cluster
/// that was set up in one go do not all come at once. Error: BadRequest for what is no certificate.
Result<SystemTime> renewal_time(const std::string& certificate_pem, Random& random);

/// Keeps a running node's client certificate fresh.
class CertificateRenewal {
public:
    struct Seams {
        EventLoop& loop;
        client::Client& client;
        Random& random;
        Logger log;
    };
    /// `use` makes the new certificate the node's: it is called on the loop, and what it cannot do is tried again later.
    CertificateRenewal(Seams seams, std::string node_name, std::function<Result<void>(const KeyPair&)> use)
        : seams_(std::move(seams)), node_name_(std::move(node_name)), use_(std::move(use)) {}

    /// Until cancelled.
    Task<> run(std::string certificate_pem);

private:
    Task<> sleep_until(SystemTime time);
    Task<std::string> renew();
    Task<std::string> renew_at_last();

    Seams seams_;
    std::string node_name_;
    std::function<Result<void>(const KeyPair&)> use_;
};

}  // namespace porthole::node_join
