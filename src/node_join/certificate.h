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
/// Timeout when it is not approved within a minute.
Task<KeyPair> request_node_certificate(EventLoop& loop, client::Client& client, std::string node_name);

/// Asks for a certificate for the kubelet's server, with the names and addresses of the Node object, which only the node itself may have.
/// `client` is the node. Errors: NotFound until the node is registered and has addresses; else as above.
Task<KeyPair> request_serving_certificate(EventLoop& loop, client::Client& client, std::string node_name);

/// Whether the cluster approves requests for serving certificates by itself, as Porthole does and Kubernetes does not: elsewhere they would
/// only wait. Error: as any request.
Task<bool> approves_serving_certificates(client::Client& client);

/// A certificate for the kubelet's server until it has one of the cluster, signed by an authority that exists for a moment only. Error:
/// BadRequest for a bad address.
Result<KeyPair> make_serving_certificate(const std::string& node_name, const std::string& address, SystemTime now);

/// When a certificate is to be renewed: after two thirds of its life, stretched by up to a tenth of it, so that the nodes of a cluster
/// that was set up in one go do not all come at once. Error: BadRequest for what is not a certificate.
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
    /// `use` makes the new certificate the node's: it is called on the loop, and what it cannot do is tried again later.
    CertificateRenewal(Seams seams, std::string node_name, std::function<Result<void>(const KeyPair&)> use,
                       Ask ask = request_node_certificate)
        : seams_(std::move(seams)), node_name_(std::move(node_name)), use_(std::move(use)), ask_(ask) {}

    /// Also renews as soon as `early` holds, which is asked every few seconds.
    void early_when(std::function<bool()> early) { early_ = std::move(early); }
    /// `certificate_pem` is what is in use; "" asks at once. Until cancelled.
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

/// Keeps a kubelet's server on certificates of the cluster: uses `kept`, that of an earlier run, where it is valid and has the names and
/// addresses of the Node object, or asks for one, and asks again before it expires. `use` also gets `kept`. Until cancelled; ends at once
/// in a cluster that approves none by itself.
Task<> serve_with_issued_certificates(CertificateRenewal::Seams seams, std::string node_name, KeyPair kept,
                                      std::function<Result<void>(const KeyPair&)> use);

}  // namespace porthole::node_join
