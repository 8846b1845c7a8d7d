#include "kubelet/volumes/object_volumes/pod_certificates.h"

#include "base/metrics_text.h"
#include "base/strings.h"
#include "kubelet/pod/pod.h"
#include "net/tls/pem.h"
#include "net/tls/x509.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

constexpr Duration Patience = 10s, Pause = 500ms;  // for a signer, in one call
constexpr Duration LatestRefresh = 5min;           // after the time that the signer names, so that not all come at a time
constexpr Duration Overdue = 10min;

Result<net::KeyType> key_type_of(const std::string& name) {
    using net::KeyType;
    static const std::map<std::string, KeyType> types = {{"ECDSAP256", KeyType::EcP256}, {"ECDSAP384", KeyType::EcP384},
                                                         {"ECDSAP521", KeyType::EcP521}, {"ED25519", KeyType::Ed25519},
                                                         {"RSA3072", KeyType::Rsa3072},  {"RSA4096", KeyType::Rsa4096}};
    const auto found = types.find(name);
    if (found == types.end()) return Error(Reason::BadRequest, "unknown key type " + quote(name));
    return found->second;
}

/// Without headers, and what is between the blocks.
std::string cleaned(const std::string& chain) {
    std::string text;
    for (const net::PemBlock& block : net::parse_pem(chain)) text += net::to_pem("CERTIFICATE", block.bytes);
    return text;
}

}  // namespace

Task<CredentialBundle> PodCertificates::bundle(std::shared_ptr<const core::Pod> pod, std::string volume, std::size_t index,
                                               core::PodCertificateProjection source) {
    std::shared_ptr<Record>& known = records_[{pod->metadata.uid, volume, index}];
    if (!known) known = std::make_shared<Record>(Record{.signer = source.signer_name});
    const std::shared_ptr<Record> record = known;  // the pod may be forgotten meanwhile
    for (const MonotonicTime end = loop_.now() + Patience;;) {
        auto advanced = co_await advance(pod, source, *record);
        if (is_cancelled(advanced)) co_return std::move(advanced).error();
        if (!record->refusal.empty()) co_return Error(Reason::BadRequest, record->refusal);
        if (!record->issued.key.empty()) co_return record->issued;
        if (!advanced) co_return std::move(advanced).error();
        if (loop_.now() >= end) co_return Error(Reason::Unavailable, "credential bundle is not issued yet");
        CO_TRY_VOID(co_await loop_.sleep(Pause));
    }
}

Task<> PodCertificates::advance(const std::shared_ptr<const core::Pod>& pod, const core::PodCertificateProjection& source, Record& record) {
    const bool due = record.issued.key.empty() || loop_.wall_now() >= record.refresh_at;
    if (!due || !record.refusal.empty()) co_return {};
    tell_age(*pod, record);
    if (record.asked.empty()) co_return co_await ask(pod, source, record);
    auto request = co_await client_.get<Request>({pod->metadata.namespace_, record.asked});
    if (is_not_found(request)) {  // deleted: a new one is made
        record.asked.clear();
        co_return {};
    }
    if (!request) co_return std::move(request).error().with_context("while getting PodCertificateRequest");
    take(*pod, *request, record);
    co_return {};
}

Task<> PodCertificates::ask(const std::shared_ptr<const core::Pod>& pod, const core::PodCertificateProjection& source, Record& record) {
    const std::string& space = pod->metadata.namespace_;
    CO_TRY(const net::KeyType type, key_type_of(source.key_type));
    auto account = co_await client_.get<core::ServiceAccount>({space, pod->spec.service_account_name});
    if (!account) co_return std::move(account).error().with_context("while fetching service account");
    auto node = co_await client_.get<core::Node>({"", node_name_});
    if (!node) co_return std::move(node).error().with_context("while getting node object");
    CO_TRY(const net::PrivateKey key, co_await run_blocking<net::PrivateKey>(
                                          workers_, [type]() -> Result<net::PrivateKey> { return net::PrivateKey::generate(type); }));

    Request request;
    request.metadata.namespace_ = space;
    request.metadata.generate_name = "req-";
    request.metadata.owner_references = {{.api_version = "v1", .kind = "Pod", .name = pod->metadata.name, .uid = pod->metadata.uid}};
    request.spec = {.signer_name = source.signer_name,
                    .pod_name = pod->metadata.name,
                    .pod_uid = pod->metadata.uid,
                    .service_account_name = pod->spec.service_account_name,
                    .service_account_uid = account->metadata.uid,
                    .node_name = node_name_,
                    .node_uid = node->metadata.uid,
                    .max_expiration_seconds = source.max_expiration_seconds,
                    .stub_pkcs10_request = net::parse_pem(net::create_certificate_request(key, {})).at(0).bytes,
                    .unverified_user_annotations = source.user_annotations};
    auto made = co_await client_.create(std::move(request));
    if (!made) co_return std::move(made).error().with_context("while creating PodCertificateRequest");
    record.asked = made->metadata.name;
    record.asked_key = key.pkcs8_pem();
    co_return {};
}

void PodCertificates::take(const core::Pod& pod, const Request& request, Record& record) {
    const std::string name = request.metadata.namespace_ + "/" + request.metadata.name;
    for (const auto& condition : request.status.conditions) {
        const std::string reason = "reason=" + quote(condition.reason), message = "message=" + quote(condition.message);
        if (condition.type == "Denied" || condition.type == "Failed") {
            const bool denied = record.is_denied = condition.type == "Denied";
            record.refusal =
                std::string("PodCertificateRequest was permanently ") + (denied ? "denied: " : "failed: ") + reason + " " + message;
            events_.warning(reference_to(pod), condition.type,
                            "PodCertificateRequest " + name + (denied ? " was denied, " : " failed, ") + reason + ", " + message);
        } else if (condition.type == "Issued" && request.status.begin_refresh_at && request.status.not_after) {
            const auto jitter = Duration(static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>(LatestRefresh.count()))));
            record = {.signer = std::move(record.signer),
                      .issued = {.key = std::move(record.asked_key), .certificate_chain = cleaned(request.status.certificate_chain)},
                      .refresh_at = request.status.begin_refresh_at->to_system_time() + jitter,
                      .not_after = request.status.not_after->to_system_time()};
        }
    }
}

/// Once for each certificate whose renewal takes too long.
void PodCertificates::tell_age(const core::Pod& pod, Record& record) {
    if (record.issued.key.empty()) return;
    const auto tell = [&](bool is_so, bool& told, const char* reason, const char* message) {
        if (is_so && !std::exchange(told, true)) events_.warning(reference_to(pod), reason, message);
    };
    tell(is_overdue(record), record.told_overdue, "CertificateOverdueForRefresh", "PodCertificate refresh overdue");
    tell(has_expired(record), record.told_expired, "CertificateExpired", "PodCertificate expired");
}

bool PodCertificates::is_overdue(const Record& record) const { return loop_.wall_now() > record.refresh_at + Overdue; }

const char* PodCertificates::state_of(const Record& record) const {
    if (!record.refusal.empty()) return record.is_denied ? "denied" : "failed";
    if (record.issued.key.empty()) return "not_yet_issued";
    return has_expired(record) ? "expired" : is_overdue(record) ? "overdue_for_refresh" : "fresh";
}

void PodCertificates::append_metrics(std::string& out) const {
    std::map<std::string, std::size_t> counts;
    for (const auto& [key, record] : records_)
        ++counts[metric_label("signer_name", record->signer) + "," + metric_label("state", state_of(*record))];
    if (counts.empty()) return;
    const MetricFamily family(
        out, "kubelet_podcertificate_states", "gauge",
        "Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.");
    for (const auto& [labels, count] : counts) family.add(labels, count);
}

void PodCertificates::forget_pod(const std::string& uid) {
    std::erase_if(records_, [&](const auto& item) { return std::get<0>(item.first) == uid; });
}

}  // namespace porthole::kubelet
