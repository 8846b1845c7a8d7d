#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "client/client.h"
#include "controllers/framework/owner.h"

namespace porthole::controllers {

/// How a claim treats one dependent.
enum class ClaimAction { Ignore, Keep, Adopt, Release };
/// An owner keeps dependents that it controls and its selector matches, adopts matching orphans, releases those that no longer match, and
/// never changes those that another object controls. Nothing is adopted or released while either is being deleted.
ClaimAction decide_claim(const api::meta::v1::ObjectMeta& owner, const api::meta::v1::ObjectMeta& dependent, bool selected);

/// Writes adoptions and releases of one reconcile. Guarded by the dependents' resourceVersion.
class Claimer {
public:
    /// Requires: `owner` outlives the claimer.
    Claimer(client::Client& client, Owner owner) : client_(client), owner_(owner) {}

    /// Error: Conflict if the owner has been deleted or replaced, or the dependent has changed.
    Task<> adopt(const schema::Kind& kind, api::meta::v1::ObjectMeta dependent, std::vector<std::string> finalizers = {});
    /// Success if the dependent no longer exists.
    Task<> release(const schema::Kind& kind, api::meta::v1::ObjectMeta dependent);

private:
    Task<> check_owner();

    client::Client& client_;
    Owner owner_;
    bool checked_ = false;
};

/// The dependents among `candidates` that belong to `owner`, after adopting and releasing. An adopted one is returned as it was in the
/// cache.
template <class T>
Task<std::vector<std::shared_ptr<const T>>> claim(client::Client& client, Owner owner, std::vector<std::shared_ptr<const T>> candidates,
                                                  std::function<bool(const T&)> selects) {
    Claimer claimer(client, owner);
    std::vector<std::shared_ptr<const T>> claimed;
    for (const auto& candidate : candidates) {
        switch (decide_claim(owner.metadata, candidate->metadata, selects(*candidate))) {
            case ClaimAction::Ignore:
                break;
            case ClaimAction::Keep:
                claimed.push_back(candidate);
                break;
            case ClaimAction::Release:
                CO_TRY_VOID(co_await claimer.release(T::kind(), candidate->metadata));
                break;
            case ClaimAction::Adopt: {
                Result<void> adopted = co_await claimer.adopt(T::kind(), candidate->metadata);
                if (adopted)
                    claimed.push_back(candidate);
                else if (!is_not_found(adopted))
                    co_return std::move(adopted).error();
                break;
            }
        }
    }
    co_return std::move(claimed);
}

}  // namespace porthole::controllers
