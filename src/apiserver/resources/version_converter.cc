#include "apiserver/resources/version_converter.h"

#include <algorithm>
#include <utility>

#include "apiserver/encryption/encrypting_engine.h"
#include "apiserver/resources/object_attributes.h"
#include "client/json_slices.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// Of one call: a webhook answers within its time, and with objects that may be larger, within the bound of an answer.
constexpr std::size_t MostObjects = 500, MostBytes = 1 << 20;

bool is_in_version(const Resource& resource, const std::string& api_version, const store::Record& record) {
    const auto* attributes = static_cast<const ObjectAttributes*>(record.attributes.get());
    if ((attributes && attributes->is_in_form(resource.form)) || is_unreadable(record.value)) return true;
    const store::Bytes stored = record.value.bytes();
    const auto found = client::json_member(*stored, "apiVersion");
    return !found || found->empty() || client::json_plain_string(*found) == api_version;
}

std::string key_of(const Resource& resource, const store::Record& record) {
    return record.key + '\n' + store::to_string(record.modified) + '\n' + std::to_string(resource.form);
}

store::RecordPtr shown(const Resource& resource, const store::Record& record, Value converted) {
    const Value tree = resource.conversion.from_stored(std::move(converted));
    auto changed = std::make_shared<store::Record>(record);
    auto attributes = std::make_shared<ObjectAttributes>(resource.selectable, tree);
    attributes->set_form(resource.form);
    changed->attributes = std::move(attributes);
    changed->value = std::make_shared<const std::string>(schema::to_json(tree));
    changed->revision_at.reset();
    return changed;
}

}  // namespace

store::RecordPtr ConvertedRecords::find(const std::string& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
}

void ConvertedRecords::put(const std::string& key, store::RecordPtr record) {
    const auto size_of = [](const Entry& entry) { return entry.first.size() + entry.second->key.size() + entry.second->value.size(); };
    Entry entry(key, std::move(record));
    if (find(key) || size_of(entry) > most_bytes_) return;
    bytes_ += size_of(entry);
    entries_.push_front(std::move(entry));
    index_.emplace(key, entries_.begin());
    while (bytes_ > most_bytes_) {
        bytes_ -= size_of(entries_.back());
        index_.erase(entries_.back().first);
        entries_.pop_back();
    }
}

Task<std::vector<store::RecordPtr>> VersionConverter::records(const Resource& resource, std::vector<store::RecordPtr> records) {
    const std::string api_version = resource.kind->api_version();
    std::vector<Wanted> wanted;
    for (std::size_t i = 0; i < records.size(); ++i)
        if (!is_in_version(resource, api_version, *records[i])) wanted.push_back({i, key_of(resource, *records[i])});
    while (!wanted.empty()) {
        const auto own = std::make_shared<ConvertedRecords::Question>();
        std::shared_ptr<ConvertedRecords::Question> other;
        std::vector<store::RecordPtr> asked;
        std::vector<std::string> keys;
        std::size_t bytes = 0;
        std::erase_if(wanted, [&](const Wanted& one) {
            if (store::RecordPtr known = remembered_.find(one.key)) {
                records[one.index] = std::move(known);
                return true;
            }
            const store::RecordPtr& record = records[one.index];
            if (const auto found = remembered_.asked_.find(one.key); found != remembered_.asked_.end()) {
                if (found->second != own) other = found->second;
            } else if (asked.empty() || (asked.size() < MostObjects && bytes + record->value.size() <= MostBytes)) {
                bytes += record->value.size();
                asked.push_back(record);
                keys.push_back(one.key);
                remembered_.asked_.emplace(one.key, own);
            }
            return false;
        });
        if (wanted.empty()) break;
        const auto question = asked.empty() ? other : own;
        if (!asked.empty()) {
            CO_TRY_VOID(co_await ask(resource, std::move(asked), std::move(keys), own));
        } else {
            CO_TRY_VOID(co_await question->ended.wait());
            if (is_cancelled(question->outcome)) continue;
            if (!question->outcome) co_return Error(question->outcome.error());  // a copy: others wait for it, too
        }
        std::erase_if(wanted, [&](const Wanted& one) {
            const auto found = question->records.find(one.key);
            if (found != question->records.end()) records[one.index] = found->second;
            return found != question->records.end();
        });
    }
    co_return records;
}

Task<> VersionConverter::ask(const Resource& resource, std::vector<store::RecordPtr> records, std::vector<std::string> keys,
                             std::shared_ptr<ConvertedRecords::Question> question) {
    question->outcome = co_await ask_once(resource, records, keys, *question);
    for (const std::string& key : keys) remembered_.asked_.erase(key);
    for (const auto& [key, record] : question->records) remembered_.put(key, record);
    question->ended.set();
    co_return question->outcome;
}

Task<> VersionConverter::ask_once(const Resource& resource, const std::vector<store::RecordPtr>& records,
                                  const std::vector<std::string>& keys, ConvertedRecords::Question& question) {
    std::vector<Value> objects;
    std::vector<std::size_t> read;  ///< which of the records they are
    for (std::size_t i = 0; i < records.size(); ++i) {
        auto tree = schema::parse_json(*records[i]->value.bytes(), {.depth = 2 * schema::MaxTreeDepth});
        if (tree && tree->is_object()) {
            objects.push_back(*std::move(tree));
            read.push_back(i);
        } else {
            question.records.emplace(keys[i], records[i]);
        }
    }
    if (objects.empty()) co_return {};
    CO_TRY(std::vector<Value> converted, co_await converter_->convert(std::move(objects), resource.kind->api_version()));
    CHECK(converted.size() == read.size());
    for (std::size_t i = 0; i < read.size(); ++i)
        question.records.emplace(keys[read[i]], shown(resource, *records[read[i]], std::move(converted[i])));
    co_return {};
}

Task<Value> VersionConverter::object(Value object, std::string api_version) {
    if (object.string_at({"apiVersion"}) == api_version) co_return object;
    std::vector<Value> objects;
    objects.push_back(std::move(object));
    CO_TRY(std::vector<Value> converted, co_await converter_->convert(std::move(objects), std::move(api_version)));
    co_return std::move(converted.front());
}

const Resource* VersionConverter::find(std::string_view api_version) const {
    const auto found = std::ranges::find(served_, api_version, [](const Resource* one) { return one->kind->api_version(); });
    return found == served_.end() ? nullptr : *found;
}

Result<std::optional<schema::OtherVersions::Shown>> ObjectVersions::show(const Value& object, std::string_view api_version) {
    const Resource* resource = converter_.find(api_version);
    if (!resource) return std::optional<Shown>();
    std::string key = std::string(api_version) + '\n' + schema::to_json(object);
    if (const auto found = known_.find(key); found != known_.end())
        return std::optional<Shown>({*found->second.kind, found->second.object});
    lacking_.push_back({std::move(key), object, resource});
    return Error(Reason::Unavailable, "the object has to be converted");
}

Task<> ObjectVersions::learn() {
    for (Lacking& one : std::exchange(lacking_, {})) {
        CO_TRY(Value converted, co_await converter_.object(std::move(one.object), one.resource->kind->api_version()));
        known_.insert_or_assign(std::move(one.key), Known{one.resource->kind, one.resource->conversion.from_stored(std::move(converted))});
    }
    co_return {};
}

Task<store::RecordPtr> converted_record(const Resource& resource, store::RecordPtr record) {
    if (!resource.converter) co_return record;
    std::vector<store::RecordPtr> one;
    one.push_back(std::move(record));
    CO_TRY(one, co_await resource.converter->records(resource, std::move(one)));
    co_return one.front();
}

Task<ApiObject> converted_for_storage(const Resource& resource, ApiObject object) {
    if (!resource.converter) co_return object;
    CO_TRY(Value tree, co_await resource.converter->object(std::move(object.edit_tree()), resource.storage_api_version));
    co_return ApiObject(*resource.stored, std::move(tree));
}

}  // namespace porthole::apiserver
