#include "client/informers/informer_core.h"

#include "base/result.h"
#include "client/backoff.h"
#include "client/informers/shared_objects.h"

namespace porthole::client {
namespace {

constexpr std::int64_t PageSize = 500;
constexpr Duration ShortestWatch = std::chrono::minutes(5);  // the longest is twice that, so that watches do not end together

bool has_expired(const Error& error) { return error.reason == Reason::Expired || error.reason == Reason::Gone; }

}  // namespace

InformerCore::InformerCore(InformerContext context, Codec codec, InformerOptions options)
    : context_(std::move(context)), codec_(codec), options_(std::move(options)) {}

Task<> InformerCore::run() {
    Backoff backoff(context_.random, std::chrono::milliseconds(200), std::chrono::seconds(30));
    for (;;) {
        Result<void> followed;
        if (resource_version_.empty()) followed = co_await relist();
        if (followed) followed = co_await watch_once();
        if (followed) {
            backoff.reset();
            continue;
        }
        const Error& error = followed.error();
        if (is_cancelled(error)) co_return error;
        if (has_expired(error)) {
            resource_version_.clear();
            context_.log.debug("watch expired, listing again", {{"resource", codec_.kind.plural}});
        } else {
            context_.log.warn("list and watch failed, will retry", {{"resource", codec_.kind.plural}, {"error", error.message}});
        }
        CO_TRY_VOID(co_await context_.loop.sleep(backoff.next()));
    }
}

Task<> InformerCore::wait_for_sync() { return synced_.wait(); }

Task<> InformerCore::relist() {
    ListOptions page{options_.namespace_, options_.label_selector, options_.field_selector, "", PageSize, ""};
    std::set<NamespacedName> seen;
    std::vector<KeptVersion> versions;
    std::string version;
    do {
        CO_TRY(const net::Bytes body, co_await context_.client.list_raw(codec_.kind, page, codec_.metadata_only));
        CO_TRY(ListSlices list, slice_list(*body));
        for (const std::string_view item : list.items) {
            Result<KeptVersion> read = decode(item);
            if (!read) {
                skip(read.error());
                continue;
            }
            seen.insert(read->key);
            if (synced_.is_set())
                versions.push_back(std::move(*read));
            else
                store(std::move(*read));
        }
        version = std::move(list.resource_version);
        page.continue_ = std::move(list.continue_);
    } while (!page.continue_.empty());

    std::vector<std::pair<NamespacedName, KeptObject>> gone;
    for (const auto& [key, entry] : cache_)
        if (!seen.contains(key)) gone.emplace_back(key, entry.object);
    for (const auto& [key, last] : gone) erase(key, last.get());
    for (KeptVersion& one : versions) store(std::move(one));
    resource_version_ = std::move(version);
    if (!synced_.is_set()) synced_.set();
    co_return {};
}

/// Applies the events of one watch until the server ends it. Error: Unavailable when the server ends it at once with nothing new, so that
/// the caller waits.
Task<> InformerCore::watch_once() {
    ListOptions from{options_.namespace_, options_.label_selector, options_.field_selector, resource_version_, 0, ""};
    WatchOptions options;
    options.timeout = ShortestWatch + std::chrono::seconds(context_.random.below(300));
    options.metadata_only = codec_.metadata_only;
    CO_TRY(std::unique_ptr<ApiStream> stream, co_await context_.client.watch(codec_.kind, std::move(from), options));
    // A peer that has vanished without a word is noticed when even the end of the watch does not come.
    const Duration longest = options.timeout + std::chrono::seconds(30);
    const MonotonicTime started = context_.loop.now();
    const std::string known = resource_version_;
    for (;;) {
        CO_TRY(std::optional<net::Bytes> event, co_await with_timeout(stream->next(), longest, "the next watch event"));
        if (!event) break;
        CO_TRY_VOID(apply_event(**event));
    }
    // A server that ends every watch at once, with events that say nothing new, would be asked without a pause for ever.
    if (resource_version_ == known && context_.loop.now() - started < std::chrono::seconds(1))
        co_return Error(Reason::Unavailable, "very short watch: the server ended it without a new event");
    co_return {};
}

Result<void> InformerCore::apply_event(std::string_view event) {
    TRY(const auto members, json_members(event));
    std::string_view type, object;
    for (const auto& [key, value] : members) {
        if (key == "type") type = json_plain_string(value);
        if (key == "object") object = value;
    }
    if (type == "ERROR") return error_of_status(0, object);
    if (type == "BOOKMARK") {
        TRY(const std::string_view metadata, json_member(object, "metadata"));
        TRY(const std::string_view version, json_member(metadata, "resourceVersion"));
        if (const std::string_view text = json_plain_string(version); !text.empty()) resource_version_ = text;
        return {};
    }
    Result<KeptVersion> read = decode(object);
    if (!read) {
        // Its metadata says how far the watch has come, or the event would come again for ever.
        TRY(const std::string_view metadata, json_member(object, "metadata"));
        TRY(const std::string_view version, json_member(metadata, "resourceVersion"));
        if (const std::string_view text = json_plain_string(version); !text.empty()) resource_version_ = text;
        skip(read.error());
        return {};
    }
    if (!read->resource_version.empty()) resource_version_ = read->resource_version;
    if (type == "DELETED") {
        if (cache_.contains(read->key)) erase(read->key, read->object.get());
        return {};
    }
    if (type != "ADDED" && type != "MODIFIED") return {};  // a type of a later version; nothing to act on
    store(std::move(*read));
    return {};
}

Result<KeptVersion> InformerCore::decode(std::string_view json) const {
    const bool shares = context_.shared && !codec_.metadata_only;
    if (shares) return context_.shared->decode(codec_, json);
    std::string room;
    TRY(Codec::Decoded decoded, codec_.decode(without_managed_fields(json, room)));
    return KeptVersion{KeptObject(std::move(decoded.object)), std::move(decoded.key), std::move(decoded.resource_version)};
}

void InformerCore::skip(const Error& error) const {
    context_.log.warn("an object cannot be read and is left out", {{"resource", codec_.kind.plural}, {"error", error.message}});
}

void InformerCore::store(KeptVersion version) {
    const auto [position, inserted] = cache_.try_emplace(std::move(version.key));
    Entry& entry = position->second;
    if (!inserted && entry.resource_version == version.resource_version) return;
    const Object now = version.object.get(), old = inserted ? nullptr : entry.object.get();
    entry = {std::move(version.object), std::move(version.resource_version)};
    if (!inserted && !old)
        for (Index& index : indexes_) index.remove_all(old, &*position);
    reindex(&*position, old, now);
    for (std::size_t i = 0; i < handlers_.size(); ++i) {
        const Handlers& handlers = handlers_[i];
        if (old && handlers.updated) handlers.updated(old, now);
        if (!old && handlers.added) handlers.added(now);
    }
}

void InformerCore::erase(const NamespacedName& key, const Object& last) {
    const auto found = cache_.find(key);
    const Object old = found->second.object.get();
    for (Index& index : indexes_) index.remove_all(old, &*found);
    cache_.erase(found);
    if (!last) return;
    for (std::size_t i = 0; i < handlers_.size(); ++i)
        if (handlers_[i].deleted) handlers_[i].deleted(last);
}

void InformerCore::Index::remove(const std::string& value, Cached cached) {
    const auto found = entries.find(value);
    if (found == entries.end()) return;
    found->second.erase(cached);
    if (found->second.empty()) entries.erase(found);
}

void InformerCore::Index::remove_all(const Object& object, Cached cached) {
    if (!object)
        for (const auto& [value, count] : counts("")) remove(value, cached);
    else
        for (const std::string& value : function(object.get())) remove(value, cached);
}

void InformerCore::reindex(Cached cached, const Object& old, const Object& now) {
    for (Index& index : indexes_) {
        const std::vector<std::string> before = old ? index.function(old.get()) : std::vector<std::string>();
        const std::vector<std::string> after = index.function(now.get());
        if (before == after) continue;
        for (const std::string& value : before) index.remove(value, cached);
        for (const std::string& value : after) index.add(value, cached);
    }
}

void InformerCore::subscribe(Handlers handlers) {
    handlers_.push_back(std::move(handlers));
    if (!handlers_.back().added) return;
    std::vector<KeptObject> present;
    for (const auto& [key, entry] : cache_) present.push_back(entry.object);
    const auto added = handlers_.back().added;
    for (const KeptObject& kept : present)
        if (const Object object = kept.get()) added(object);
}

std::size_t InformerCore::add_index(IndexFunction function) {
    Index index{std::move(function), {}};
    for (const Cache::value_type& cached : cache_)
        if (const Object object = cached.second.object.get())
            for (const std::string& value : index.function(object.get())) index.add(value, &cached);
    indexes_.push_back(std::move(index));
    return indexes_.size() - 1;
}

InformerCore::IndexCounts InformerCore::Index::counts(const std::string& prefix) const {
    IndexCounts counts;
    for (auto at = entries.lower_bound(prefix); at != entries.end() && at->first.starts_with(prefix); ++at)
        counts.emplace_back(at->first, at->second.size());
    return counts;
}

InformerCore::Object InformerCore::find(const NamespacedName& key) const {
    const auto found = cache_.find(key);
    return found == cache_.end() ? nullptr : found->second.object.get();
}

void InformerCore::show(const Entry& entry, const std::function<void(const Object&)>& visitor) {
    if (const Object object = entry.object.get()) visitor(object);
}

void InformerCore::visit(const std::function<void(const Object&)>& visitor) const {
    for (const auto& [key, entry] : cache_) show(entry, visitor);
}

void InformerCore::visit_namespace(const std::string& namespace_, const std::function<void(const Object&)>& visitor) const {
    for (auto it = cache_.lower_bound({namespace_, ""}); it != cache_.end() && it->first.namespace_ == namespace_; ++it)
        show(it->second, visitor);
}

void InformerCore::visit_index(std::size_t index, const std::string& value, const std::function<void(const Object&)>& visitor) const {
    const auto& entries = indexes_[index].entries;
    const auto found = entries.find(value);
    if (found == entries.end()) return;
    for (const Cached cached : found->second) show(cached->second, visitor);
}

}  // namespace porthole::client
