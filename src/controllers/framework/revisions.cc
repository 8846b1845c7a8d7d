#include "controllers/framework/revisions.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"
#include "base/result.h"
#include "schema/convert.h"
#include "schema/json/json.h"

namespace porthole::controllers {

using api::apps::v1::ControllerRevision;
using api::core::v1::PodTemplateSpec;
using schema::Value;

namespace {

constexpr std::string_view Alphabet = "bcdfghjklmnpqrstvwxz2456789";

void sort_keys(Value& value) {
    if (value.is_array())
        for (Value& item : value.as_array()) sort_keys(item);
    if (!value.is_object()) return;
    value.as_object().sort_keys();
    for (auto& member : value.as_object()) sort_keys(member.value);
}

}  // namespace

Value template_data(const PodTemplateSpec& pod_template) {
    Value data;
    Value& body = data.ensure_path({"spec", "template"});
    body = schema::to_value(pod_template);
    body["$patch"] = "replace";
    sort_keys(data);
    return data;
}

Result<PodTemplateSpec> template_of(const ControllerRevision& revision) {
    const Value* body = revision.data.at_path({"spec", "template"});
    if (!body) return Error(Reason::BadRequest, "revision " + revision.metadata.name + " holds no template");
    return schema::from_value<PodTemplateSpec>(*body);
}

RevisionHistory::RevisionHistory(client::Client& client, Owner owner, std::vector<ControllerRevision> revisions)
    : client_(client), owner_(owner), revisions_(std::move(revisions)) {
    std::ranges::sort(revisions_, [](const ControllerRevision& a, const ControllerRevision& b) {
        return std::tie(a.revision, a.metadata.creation_timestamp, a.metadata.name) <
               std::tie(b.revision, b.metadata.creation_timestamp, b.metadata.name);
    });
}

const ControllerRevision* RevisionHistory::find(const std::string& name) const {
    for (const ControllerRevision& revision : revisions_)
        if (revision.metadata.name == name) return &revision;
    return nullptr;
}

Task<ControllerRevision> RevisionHistory::ensure(ControllerRevision wanted) {
    const std::int64_t newest = revisions_.empty() ? 0 : revisions_.back().revision;
    const auto same = std::find_if(revisions_.rbegin(), revisions_.rend(),
                                   [&](const ControllerRevision& revision) { return revision.data == wanted.data; });
    if (same != revisions_.rend()) {
        if (same->revision == newest) co_return *same;
        ControllerRevision raised = *same;
        raised.revision = newest + 1;
        CO_TRY(raised, co_await client_.update(std::move(raised)));
        revisions_.erase(std::next(same).base());
        revisions_.push_back(raised);
        co_return std::move(raised);
    }
    wanted.revision = newest + 1;
    wanted.metadata.namespace_ = owner_.metadata.namespace_;
    wanted.metadata.owner_references = {owner_.controller_reference()};
    Result<ControllerRevision> created = co_await client_.create(wanted);
    if (!created && created.error().reason == Reason::AlreadyExists) {
        CO_TRY(ControllerRevision there, co_await client_.get<ControllerRevision>(client::key_of(wanted)));
        const bool ours = objects::is_controlled_by(there.metadata, owner_.metadata.uid) && there.data == wanted.data;
        if (!ours) co_return std::move(created).error();
        created = std::move(there);  // the cache lags
    }
    if (created) revisions_.push_back(*created);
    co_return created;
}

Task<> RevisionHistory::truncate(std::size_t limit, const std::function<bool(const ControllerRevision&)>& is_live) {
    std::vector<ControllerRevision> idle;
    for (const ControllerRevision& revision : revisions_)
        if (!is_live(revision)) idle.push_back(revision);
    for (std::size_t i = 0; i + limit < idle.size(); ++i) {
        CO_TRY_VOID(ignore_not_found(co_await client_.remove<ControllerRevision>(client::key_of(idle[i]), {.uid = idle[i].metadata.uid})));
    }
    co_return {};
}

std::string safe_encode(std::string_view decimal) {
    std::string text;
    for (const char c : decimal) text += Alphabet[static_cast<unsigned char>(c) % Alphabet.size()];
    return text;
}

std::string template_hash(const api::core::v1::PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count) {
    std::uint32_t hash = fnv1a_32(schema::encode_json(pod_template));
    if (collision_count) {
        char bytes[8] = {};
        for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(static_cast<std::uint32_t>(*collision_count) >> (8 * i));
        hash = fnv1a_32(std::string_view(bytes, sizeof bytes), hash);
    }
    return safe_encode(std::to_string(hash));
}

}  // namespace porthole::controllers
