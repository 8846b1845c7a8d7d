#include "apiserver/bootstrap/endpoint_reconciler.h"

#include <optional>

#include "apiserver/bootstrap/kubernetes_endpoints.h"
#include "base/result.h"
#include "base/values/ip.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view MasterLeases = "/registry/masterleases/";
constexpr Duration LeaseTime = 15s;  ///< as upstream
constexpr Duration RenewEvery = 5s, RetryAfter = 1s;
constexpr int PublishAttempts = 3;  ///< another server writes the same

/// What upstream's server reads: the address in an Endpoints object.
std::string record_of(const std::string& address) {
    return R"({"kind":"Endpoints","apiVersion":"v1","metadata":{},"subsets":[{"addresses":[{"ip":")" + address + R"("}]}]})";
}

}  // namespace

EndpointReconciler::EndpointReconciler(Seams seams, std::string address, std::uint16_t port)
    : seams_(std::move(seams)), key_(std::string(MasterLeases) + address), address_(std::move(address)), port_(port) {}

Task<> EndpointReconciler::run() {
    std::optional<store::Watch> changes;
    for (;;) {
        if (!changes) {
            auto watch = seams_.store.watch({.prefix = std::string(MasterLeases), .after = seams_.store.revision(), .topic = ""});
            if (watch) changes.emplace(std::move(*watch));
        }
        const auto reconciled = co_await reconcile();
        if (is_cancelled(reconciled)) co_return reconciled.error();
        const std::string problem = reconciled ? "" : reconciled.error().message;
        if (!problem.empty() && problem_.empty())
            seams_.log.warn("the endpoints of the API servers cannot be kept up to date", {{"error", problem}});
        problem_ = problem;
        if (!changes || !reconciled) {
            CO_TRY_VOID(co_await seams_.loop.sleep(RetryAfter));
            continue;
        }
        const auto changed = co_await with_timeout(changes->next(), RenewEvery, "waiting for API servers");
        if (is_cancelled(changed)) co_return changed.error();
        if (!changed && changed.error().reason != Reason::Timeout) changes.reset();
    }
}

Task<> EndpointReconciler::reconcile() {
    CO_TRY(const Semaphore::Permit turn, co_await turn_.acquire());
    if (withdrawn_) co_return {};
    CO_TRY_VOID(co_await announce());
    // An API that does not answer must not keep the lease from being renewed.
    co_return co_await with_timeout(publish(), RenewEvery, "writing the endpoints of the API servers");
}

Task<> EndpointReconciler::announce() {
    if (lease_) {
        const auto kept = co_await seams_.store.keep_alive(lease_);
        const store::RecordPtr ours = seams_.store.get(key_);
        if (kept && ours && ours->lease == lease_) co_return {};
        if (!kept && !is_not_found(kept)) co_return kept.error();
    }
    CO_TRY(lease_, co_await seams_.store.grant_lease(LeaseTime));
    store::Transaction transaction;
    transaction.operations.push_back(store::Put{.key = key_, .value = record_of(address_), .lease = lease_});
    CO_TRY_VOID(co_await seams_.store.commit(std::move(transaction)));
    co_return {};
}

/// The keys say it; values that upstream's servers have written are of another form.
std::set<std::string> EndpointReconciler::living() const {
    std::set<std::string> addresses;
    const auto records = seams_.store.range({.prefix = std::string(MasterLeases)});
    if (!records) return addresses;
    for (const store::RecordPtr& record : records->records) {
        std::string address = record->key.substr(MasterLeases.size());
        if (withdrawn_ && address == address_) continue;
        if (IpAddress::parse(address)) addresses.insert(std::move(address));
    }
    return addresses;
}

Task<> EndpointReconciler::publish() {
    for (int attempt = 1;; ++attempt) {
        CO_TRY_VOID(co_await seams_.store.catch_up());  // after a conflict, too: what has been written is of newer records
        const std::set<std::string> addresses = living();
        if (addresses.empty()) co_return {};
        const auto published = co_await publish_kubernetes_endpoints(seams_.client, addresses, port_);
        if (published || published.error().reason != Reason::Conflict || attempt == PublishAttempts) co_return published;
    }
}

Task<> EndpointReconciler::withdraw() {
    CO_TRY(const Semaphore::Permit turn, co_await turn_.acquire());
    withdrawn_ = true;
    if (!lease_) co_return {};
    CO_TRY_VOID(co_await seams_.store.revoke_lease(lease_));
    co_return co_await publish();
}

}  // namespace porthole::apiserver
