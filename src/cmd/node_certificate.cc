#include "cmd/node_certificate.h"

#include <algorithm>

#include "api/certificates_v1.h"
#include "client/backoff.h"
#include "net/x509.h"

namespace porthole::cmd {

using namespace std::chrono_literals;
using api::certificates::v1::CertificateSigningRequest;

namespace {

constexpr Duration LongestNap = 1h;  ///< the wall clock may be set while we sleep
constexpr Duration ServingLife = 24h * 365, ClockSkew = 5min;
constexpr Duration FirstRetry = 10s, LongestRetry = 1h;

}  // namespace

Task<KeyPair> request_node_certificate(EventLoop& loop, client::Client& client, std::string node_name) {
    const net::PrivateKey key = net::PrivateKey::generate();
    CertificateSigningRequest request;
    request.metadata.generate_name = "node-csr-";
    request.spec.request =
        net::create_certificate_request(key, {.common_name = "system:node:" + node_name, .organizations = {"system:nodes"}});
    request.spec.signer_name = "kubernetes.io/kube-apiserver-client-kubelet";
    // Upstream 1.20 approves only requests with key encipherment, although keys that are not RSA cannot do that; later versions take both.
    request.spec.usages = {"digital signature", "key encipherment", "client auth"};
    auto created = co_await client.create(std::move(request));
    if (!created && created.error().reason == Reason::Unauthorized) {
        co_return Error(Reason::Unauthorized,
                        "the token is unknown to the server or has expired; create another with `porthole token create`");
    }
    if (!created) co_return std::move(created).error();
    const MonotonicTime deadline = loop.now() + 60s;
    while (loop.now() < deadline) {
        CO_TRY(const auto current, co_await client.get<CertificateSigningRequest>(client::key_of(*created)));
        if (!current.status.certificate.empty()) co_return KeyPair{current.status.certificate, key.pem()};
        for (const auto& condition : current.status.conditions) {
            if (condition.type == "Denied" || condition.type == "Failed")
                co_return Error(Reason::Forbidden, "the cluster refused the node: " + condition.message);
        }
        CO_TRY_VOID(co_await loop.sleep(200ms));
    }
    co_return Error(Reason::Timeout, "the certificate request " + created->metadata.name +
                                         " has not been approved within a minute; `kubectl certificate approve " + created->metadata.name +
                                         "` approves it, then try again");
}

Result<KeyPair> make_serving_certificate(const std::string& node_name, const std::string& address, SystemTime now) {
    const auto authority = net::CertificateAuthority::create(node_name + "-ca", now - ClockSkew, now + ServingLife);
    const net::PrivateKey key = net::PrivateKey::generate();
    const net::CertificateSubject subject{.common_name = node_name, .dns_names = {node_name}, .ip_addresses = {address}};
    TRY(std::string certificate,
        authority.issue(key, subject, {.not_before = now - ClockSkew, .not_after = now + ServingLife, .for_server = true}));
    return KeyPair{std::move(certificate), key.pem()};
}

Result<SystemTime> renewal_time(const std::string& certificate_pem, Random& random) {
    TRY(const auto info, net::parse_certificate(certificate_pem));
    const auto life = info.not_after - info.not_before;
    const auto jitter = Duration(static_cast<Duration::rep>(static_cast<double>(life.count()) * 0.1 * random.fraction()));
    return info.not_before + life * 2 / 3 + jitter;
}

Task<> CertificateRenewal::sleep_until(SystemTime time) {
    for (;;) {
        const Duration left = time - seams_.loop.wall_now();
        if (left <= Duration::zero()) co_return {};
        CO_TRY_VOID(co_await seams_.loop.sleep(std::min(left, LongestNap)));
    }
}

Task<std::string> CertificateRenewal::renew() {
    CO_TRY(const KeyPair pair, co_await request_node_certificate(seams_.loop, seams_.client, node_name_));
    CO_TRY_VOID(use_(pair));
    co_return pair.certificate_pem;
}

/// Tries until it is done. Error: Cancelled.
Task<std::string> CertificateRenewal::renew_at_last() {
    client::Backoff backoff(seams_.random, FirstRetry, LongestRetry);
    for (;;) {
        Result<std::string> renewed = co_await renew();
        if (renewed || renewed.error().reason == Reason::Cancelled) co_return renewed;
        const Duration wait = backoff.next();
        seams_.log.warn("the node's certificate could not be renewed",
                        {{"node", node_name_}, {"error", renewed.error().message}, {"again in s", wait / 1s}});
        CO_TRY_VOID(co_await seams_.loop.sleep(wait));
    }
}

Task<> CertificateRenewal::run(std::string certificate_pem) {
    for (;;) {
        CO_TRY(const SystemTime due, renewal_time(certificate_pem, seams_.random));
        CO_TRY_VOID(co_await sleep_until(due));
        CO_TRY(certificate_pem, co_await renew_at_last());
        seams_.log.info("the node's certificate has been renewed", {{"node", node_name_}});
    }
}

}  // namespace porthole::cmd
