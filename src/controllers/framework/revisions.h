#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "client/client.h"
#include "controllers/framework/owner.h"
#include "schema/value.h"

namespace porthole::controllers {

/// The number in letters and digits that form no words.
std::string safe_encode(std::string_view decimal);

/// A name for the template: equal templates have equal hashes, and `collision_count` changes the hash after a collision. Differs from
/// Kubernetes: computed from the template's JSON, because upstream hashes Go's debug print of it; no other program computes it.
std::string template_hash(const api::core::v1::PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count);

/// A pod template in the form of the history: {"spec":{"template":{…,"$patch":"replace"}}}, ready to be applied to its owner. Members are
/// in the order of their names: clients compare the bytes with Go's encoding of the template.
schema::Value template_data(const api::core::v1::PodTemplateSpec& pod_template);
/// The template in such data. Error: BadRequest.
Result<api::core::v1::PodTemplateSpec> template_of(const api::apps::v1::ControllerRevision& revision);

inline constexpr const char* RevisionHashLabel = "controller-revision-hash";

/// The history of one owner: every template of its pods, within limits.
class RevisionHistory {
public:
    using ControllerRevision = api::apps::v1::ControllerRevision;

    /// `revisions` are the owner's, in any order. Requires: `owner` outlives the history.
    RevisionHistory(client::Client& client, Owner owner, std::vector<ControllerRevision> revisions);

    const std::vector<ControllerRevision>& revisions() const { return revisions_; }  ///< oldest first
    const ControllerRevision* find(const std::string& name) const;
    /// The revision that contains `wanted.data`: an existing one becomes the newest, otherwise `wanted` is created. Error: AlreadyExists if
    /// an object of the same name has other data.
    Task<ControllerRevision> ensure(ControllerRevision wanted);
    /// Removes the oldest revisions beyond `limit` for which `is_live` is false.
    Task<> truncate(std::size_t limit, const std::function<bool(const ControllerRevision&)>& is_live);

private:
    client::Client& client_;
    Owner owner_;
    std::vector<ControllerRevision> revisions_;
};

}  // namespace porthole::controllers
