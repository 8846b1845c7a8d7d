#pragma once
#include <map>
#include <memory>
#include <tuple>

#include "api/certificates_v1beta1.h"
#include "api/core_v1.h"
#include "client/client.h"
#include "client/events.h"
#include "runtime/random.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {

namespace core = api::core::v1;

/// A private key (PKCS #8) and the certificates that a signer has issued for it, its own first. Both as PEM.
struct CredentialBundle {
    std::string key, certificate_chain;
};

/// Keys and certificates of pods, which signers issue for PodCertificateRequests, and renew from when they say. Kept in memory: a new
/// kubelet asks for all of them again. The collaborators outlive it; everything is on `loop`.
class PodCertificates {
public:
    PodCertificates(EventLoop& loop, Random& random, WorkerPool& workers, client::Client& client, client::EventRecorder& events,
                    std::string node_name)
        : loop_(loop), random_(random), workers_(workers), client_(client), events_(events), node_name_(std::move(node_name)) {}

    /// What the source at `index` of a projected volume shows. Waits some seconds for a signer. Calls for one volume must not overlap.
    /// Errors: BadRequest once the signer has refused; Unavailable while nothing is issued; the API's.
    Task<CredentialBundle> bundle(std::shared_ptr<const core::Pod> pod, std::string volume, std::size_t index,
                                  core::PodCertificateProjection source);
    void forget_pod(const std::string& uid);
    /// How many sources there are, by signer and state: upstream's kubelet_podcertificate_states.
    void append_metrics(std::string& out) const;

private:
    using Request = api::certificates::v1beta1::PodCertificateRequest;
    using Key = std::tuple<std::string, std::string, std::size_t>;  ///< the pod's uid, the volume, the source

    /// What is known of one source.
    struct Record {
        std::string signer;
        CredentialBundle issued;  ///< empty until there is one
        SystemTime refresh_at, not_after;
        std::string asked;  ///< the name of the request that is waited for; "" if there is none
        std::string asked_key;
        std::string refusal;     ///< of the signer, which is for good
        bool is_denied = false;  ///< and not failed
        bool told_overdue = false, told_expired = false;
    };

    /// Asks for a certificate if it is time to, or looks whether one has been issued.
    Task<> advance(const std::shared_ptr<const core::Pod>& pod, const core::PodCertificateProjection& source, Record& record);
    Task<> ask(const std::shared_ptr<const core::Pod>& pod, const core::PodCertificateProjection& source, Record& record);
    void take(const core::Pod& pod, const Request& request, Record& record);
    void tell_age(const core::Pod& pod, Record& record);
    const char* state_of(const Record& record) const;
    bool is_overdue(const Record& record) const;
    bool has_expired(const Record& record) const { return loop_.wall_now() > record.not_after; }

    EventLoop& loop_;
    Random& random_;
    WorkerPool& workers_;
    client::Client& client_;
    client::EventRecorder& events_;
    std::string node_name_;
    std::map<Key, std::shared_ptr<Record>> records_;
};

}  // namespace porthole::kubelet
