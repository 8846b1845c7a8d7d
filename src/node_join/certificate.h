#pragma once
#include <functional>
#include <string>

#include "base/log.h"
#include "client/client.h"
#include "node_join/key_pair.h"
#include "runtime/random.h"

namespace porthole::node_join {

/// Requests a client certificate for this node and waits until it is approved and issued. The client may be a bootstrap token or the node
/// itself. Errors: Unauthorized for an unknown token; Forbidden if the request is denied; Timeout if it is not approved within a minute.
Task<KeyPair> request_node_certificate(EventLoop& loop, client::Client& client, std::string node_name);

/// Requests a kubelet serving certificate with the names and addresses of the Node object, which only the node itself may do. `client` is
/// the node. Errors: NotFound until the node is registered and has addresses; otherwise as above.
Task<KeyPair> request_serving_certificate(EventLoop& loop, client::Client& client, std::string node_name);

/// Whether the cluster approves requests for serving certificates automatically, as Porthole does and Kubernetes does not: elsewhere they
/// would stay pending. Error: as any request.
Task<bool> approves_serving_certificates(client::Client& client);

/// A certificate for the kubelet's server until it has one of the cluster, signed by an authority that exists for a moment only. Error:
/// BadRequest for a bad address.
Result<KeyPair> make_serving_certificate(const std::string& node_name, const std::string& address, SystemTime now);

/// When to renew a certificate: after two thirds of its life, extended by up to a tenth of it, so that nodes of the same age do not all
/// renew at once. Error: BadRequest if it is not a certificate.
Result<SystemTime> renewal_time(const std::string& certificate_pem, Random& random);

/// Renews one of a running node's certificates in time. References outlive run().
class CertificateRenewal {
public:
    using Ask = Task<KeyPair> (*)(EventLoop&, client::Client&, std::string node_name);
    struct Seams {
        EventLoop& loop;
        client::Client& client;
        Random& random;
        Logger log;
    };
    /// `use` puts the new certificate into use: it is called on the loop, and retried later if it fails.
    CertificateRenewal(Seams seams, std::string node_name, std::function<Result<void>(const KeyPair&)> use,
                       Ask ask = request_node_certificate)
        : seams_(std::move(seams)), node_name_(std::move(node_name)), use_(std::move(use)), ask_(ask) {}

    /// Also renews as soon as `early` returns true; called every few seconds.
    void early_when(std::function<bool()> early) { early_ = std::move(early); }
    /// `certificate_pem` is the one in use; "" requests one immediately. Until cancelled.
    Task<> run(std::string certificate_pem);

private:
    Task<> sleep_until(SystemTime time);
    Task<std::string> renew();
    Task<std::string> renew_at_last(Duration first_retry);

    Seams seams_;
    std::string node_name_;
    std::function<Result<void>(const KeyPair&)> use_;
    Ask ask_;
    std::function<bool()> early_;
};

/// Keeps a kubelet's server on certificates issued by the cluster: uses `kept`, that of an earlier run, if it is valid and has the names
/// and addresses of the Node object; otherwise requests one, and renews it before it expires. `use` is also called for `kept`. Until
/// cancelled; requests none of a cluster that does not approve them automatically, but its control plane may be replaced by one that does.
Task<> serve_with_issued_certificates(CertificateRenewal::Seams seams, std::string node_name, KeyPair kept,
                                      std::function<Result<void>(const KeyPair&)> use);

}  // namespace porthole::node_join
