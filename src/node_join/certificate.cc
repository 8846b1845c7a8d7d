#include "node_join/certificate.h"

#include <algorithm>

#include "api/certificates_v1.h"
#include "api/core_v1.h"
#include "base/result.h"
#include "client/backoff.h"
#include "net/tls/x509.h"
#include "schema/json/json.h"

namespace porthole::node_join {

using namespace std::chrono_literals;
using api::certificates::v1::CertificateSigningRequest;
using api::core::v1::Node;

namespace {

constexpr Duration EarlyPeriod = 5s;
constexpr Duration LookForTakeover = 10min;  ///< of a cluster that approves none by one that does
constexpr Duration LongestNap = 1h;          ///< the wall clock may be set while we sleep
constexpr Duration ServingLife = 24h * 365, ServingSkew = 5min;
constexpr Duration FirstRetry = 10s, LongestRetry = 1h;
constexpr Duration RetryOfTheFirst = 500ms;  ///< a node that starts is not registered yet

/// The certificate, once it has been approved and issued.
Task<std::string> obtain(EventLoop& loop, client::Client& client, CertificateSigningRequest request) {
    auto created = co_await client.create(std::move(request));
    if (!created && created.error().reason == Reason::Unauthorized) {
        co_return Error(Reason::Unauthorized,
                        "the token is unknown to the server or has expired; create another with `porthole token create`");
    }
    if (!created) co_return std::move(created).error();
    const MonotonicTime deadline = loop.now() + 60s;
    while (loop.now() < deadline) {
        CO_TRY(const auto current, co_await client.get<CertificateSigningRequest>(client::key_of(*created)));
        if (!current.status.certificate.empty()) co_return current.status.certificate;
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

/// The names and addresses of the Node object. Error: NotFound until it has addresses.
Task<net::CertificateSubject> serving_subject(client::Client& client, std::string node_name) {
    CO_TRY(const Node node, co_await client.get<Node>({"", node_name}));
    net::CertificateSubject subject{.common_name = "system:node:" + node_name, .organizations = {"system:nodes"}};
    for (const auto& address : node.status.addresses) {
        auto& names = address.type.ends_with("IP") ? subject.ip_addresses : subject.dns_names;
        if (std::ranges::find(names, address.address) == names.end()) names.push_back(address.address);
    }
    if (node.status.addresses.empty()) co_return Error(Reason::NotFound, "the node has no addresses yet");
    co_return subject;
}

bool has_same(std::vector<std::string> left, std::vector<std::string> right) {
    std::ranges::sort(left);
    std::ranges::sort(right);
    return left == right;
}

bool is_valid_for(const std::string& certificate_pem, const net::CertificateSubject& wanted, SystemTime now) {
    const auto info = net::parse_certificate(certificate_pem);
    return info && now < info->not_after && info->subject.common_name == wanted.common_name &&
           has_same(info->subject.dns_names, wanted.dns_names) && has_same(info->subject.ip_addresses, wanted.ip_addresses);
}

/// `kept`'s certificate once it is in use; "" where it cannot be. Error: Cancelled.
Task<std::string> use_kept(CertificateRenewal::Seams seams, std::string node_name, KeyPair kept,
                           std::function<Result<void>(const KeyPair&)> use) {
    if (kept.certificate_pem.empty()) co_return "";
    Result<net::CertificateSubject> wanted = Error(Reason::NotFound, "not asked");
    while (!(wanted = co_await serving_subject(seams.client, node_name))) {
        if (is_cancelled(wanted)) co_return cancelled_error();
        CO_TRY_VOID(co_await seams.loop.sleep(1s));
    }
    const bool is_used = is_valid_for(kept.certificate_pem, *wanted, seams.loop.wall_now()) && use(kept);
    co_return is_used ? kept.certificate_pem : "";
}

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
    CO_TRY(std::string certificate, co_await obtain(loop, client, std::move(request)));
    co_return KeyPair{std::move(certificate), key.pem()};
}

Task<KeyPair> request_serving_certificate(EventLoop& loop, client::Client& client, std::string node_name) {
    CO_TRY(const net::CertificateSubject subject, co_await serving_subject(client, node_name));
    const net::PrivateKey key = net::PrivateKey::generate();
    CertificateSigningRequest request;
    request.metadata.generate_name = "csr-";
    request.spec.request = net::create_certificate_request(key, subject);
    request.spec.signer_name = "kubernetes.io/kubelet-serving";
    request.spec.usages = {"digital signature", "server auth"};
    CO_TRY(std::string certificate, co_await obtain(loop, client, std::move(request)));
    co_return KeyPair{std::move(certificate), key.pem()};
}

Task<bool> approves_serving_certificates(client::Client& client) {
    CO_TRY(const net::Bytes version, co_await client.get_raw("/version"));
    CO_TRY(const schema::Value document, schema::parse_json(*version));
    co_return document.string_at({"gitVersion"}).contains("+porthole-");
}

Result<KeyPair> make_serving_certificate(const std::string& node_name, const std::string& address, SystemTime now) {
    const auto authority = net::CertificateAuthority::create(node_name + "-ca", now - ServingSkew, now + ServingLife);
    const net::PrivateKey key = net::PrivateKey::generate();
    const net::CertificateSubject subject{.common_name = node_name, .dns_names = {node_name}, .ip_addresses = {address}};
    TRY(std::string certificate,
        authority.issue(key, subject, {.not_before = now - ServingSkew, .not_after = now + ServingLife, .for_server = true}));
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
        if (left <= Duration::zero() || (early_ && early_())) co_return {};
        CO_TRY_VOID(co_await seams_.loop.sleep(std::min(left, early_ ? EarlyPeriod : LongestNap)));
    }
}

Task<std::string> CertificateRenewal::renew() {
    CO_TRY(const KeyPair pair, co_await ask_(seams_.loop, seams_.client, node_name_));
    CO_TRY_VOID(use_(pair));
    co_return pair.certificate_pem;
}

/// Tries until it is done. Error: Cancelled.
Task<std::string> CertificateRenewal::renew_at_last(Duration first_retry) {
    client::Backoff backoff(seams_.random, first_retry, LongestRetry);
    for (;;) {
        Result<std::string> renewed = co_await renew();
        if (renewed || is_cancelled(renewed)) co_return renewed;
        const Duration wait = backoff.next();
        if (renewed.error().reason != Reason::NotFound)
            seams_.log.warn("the node's certificate could not be renewed",
                            {{"node", node_name_}, {"error", renewed.error().message}, {"again in s", wait / 1s}});
        CO_TRY_VOID(co_await seams_.loop.sleep(wait));
    }
}

Task<> CertificateRenewal::run(std::string certificate_pem) {
    if (certificate_pem.empty()) {
        CO_TRY(certificate_pem, co_await renew_at_last(RetryOfTheFirst));
    }
    for (;;) {
        CO_TRY(const SystemTime due, renewal_time(certificate_pem, seams_.random));
        CO_TRY_VOID(co_await sleep_until(due));
        CO_TRY(certificate_pem, co_await renew_at_last(FirstRetry));
        seams_.log.info("the node's certificate has been renewed", {{"node", node_name_}});
    }
}

Task<> serve_with_issued_certificates(CertificateRenewal::Seams seams, std::string node_name, KeyPair kept,
                                      std::function<Result<void>(const KeyPair&)> use) {
    for (;;) {
        const Result<bool> approves = co_await approves_serving_certificates(seams.client);
        if (is_cancelled(approves)) co_return approves.error();
        if (approves && *approves) break;
        CO_TRY_VOID(co_await seams.loop.sleep(approves ? LookForTakeover : 1s));
    }
    CO_TRY(std::string in_use, co_await use_kept(seams, node_name, std::move(kept), use));
    CertificateRenewal renewal(seams, std::move(node_name), std::move(use), request_serving_certificate);
    co_return co_await renewal.run(std::move(in_use));
}

}  // namespace porthole::node_join
