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
    std::vector<Codec::Decoded> objects;
    std::string version;
    do {
        CO_TRY(const net::Bytes body, co_await context_.client.list_raw(codec_.kind, page, codec_.metadata_only));
        CO_TRY(ListSlices list, slice_list(*body));
        for (const std::string_view item : list.items) {
            Result<Codec::Decoded> decoded = decode(item);
            if (!decoded) {
                skip(decoded.error());
                continue;
            }
            seen.insert(decoded->key);
            objects.push_back(std::move(*decoded));
        }
        version = std::move(list.resource_version);
        page.continue_ = std::move(list.continue_);
    } while (!page.continue_.empty());

    std::vector<std::pair<NamespacedName, Object>> gone;
    for (const auto& [key, entry] : cache_)
        if (!seen.contains(key)) gone.emplace_back(key, entry.object);
    for (const auto& [key, last] : gone) erase(key, last);
    for (Codec::Decoded& decoded : objects) store(std::move(decoded));
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
    Result<Codec::Decoded> read = decode(object);
    if (!read) {
        // Its metadata says how far the watch has come, or the event would come again for ever.
        TRY(const std::string_view metadata, json_member(object, "metadata"));
        TRY(const std::string_view version, json_member(metadata, "resourceVersion"));
        if (const std::string_view text = json_plain_string(version); !text.empty()) resource_version_ = text;
        skip(read.error());
        return {};
    }
    Codec::Decoded decoded = std::move(*read);
    if (!decoded.resource_version.empty()) resource_version_ = decoded.resource_version;
    if (type == "DELETED") {
        if (cache_.contains(decoded.key)) erase(decoded.key, decoded.object);
        return {};
    }
    if (type != "ADDED" && type != "MODIFIED") return {};  // a type of a later version; nothing to act on
    store(std::move(decoded));
    return {};
}

Result<InformerCore::Codec::Decoded> InformerCore::decode(std::string_view json) const {
    const bool shares = context_.shared && !codec_.metadata_only;
    if (shares) return context_.shared->decode(codec_.decode, json);
    std::string room;
    return codec_.decode(without_managed_fields(json, room));
}

void InformerCore::skip(const Error& error) const {
    context_.log.warn("an object cannot be read and is left out", {{"resource", codec_.kind.plural}, {"error", error.message}});
}

void InformerCore::store(Codec::Decoded decoded) {
    const auto [position, inserted] = cache_.try_emplace(decoded.key);
    if (!inserted && position->second.resource_version == decoded.resource_version) return;
    const Object old = std::exchange(position->second.object, decoded.object);
    position->second.resource_version = std::move(decoded.resource_version);
    reindex(&*position, old);
    for (std::size_t i = 0; i < handlers_.size(); ++i) {
        const Handlers& handlers = handlers_[i];
        if (old && handlers.updated) handlers.updated(old, decoded.object);
        if (!old && handlers.added) handlers.added(decoded.object);
    }
}

void InformerCore::erase(const NamespacedName& key, const Object& last) {
    const auto found = cache_.find(key);
    const Object old = found->second.object;
    for (Index& index : indexes_)
        for (const std::string& value : index.function(old.get())) index.remove(value, &*found);
    cache_.erase(found);
    for (std::size_t i = 0; i < handlers_.size(); ++i)
        if (handlers_[i].deleted) handlers_[i].deleted(last);
}

void InformerCore::Index::remove(const std::string& value, Cached cached) {
    const auto found = entries.find(value);
    if (found == entries.end()) return;
    found->second.erase(cached);
    if (found->second.empty()) entries.erase(found);
}

void InformerCore::reindex(Cached cached, const Object& old) {
    for (Index& index : indexes_) {
        const std::vector<std::string> before = old ? index.function(old.get()) : std::vector<std::string>();
        const std::vector<std::string> now = index.function(cached->second.object.get());
        if (before == now) continue;
        for (const std::string& value : before) index.remove(value, cached);
        for (const std::string& value : now) index.add(value, cached);
    }
}

void InformerCore::subscribe(Handlers handlers) {
    handlers_.push_back(std::move(handlers));
    if (!handlers_.back().added) return;
    std::vector<Object> present;
    visit([&](const Object& object) { present.push_back(object); });
    const auto added = handlers_.back().added;
    for (const Object& object : present) added(object);
}

std::size_t InformerCore::add_index(IndexFunction function) {
    Index index{std::move(function), {}};
    for (const Cache::value_type& cached : cache_)
        for (const std::string& value : index.function(cached.second.object.get())) index.add(value, &cached);
    indexes_.push_back(std::move(index));
    return indexes_.size() - 1;
}

InformerCore::Object InformerCore::find(const NamespacedName& key) const {
    const auto found = cache_.find(key);
    return found == cache_.end() ? nullptr : found->second.object;
}

void InformerCore::visit(const std::function<void(const Object&)>& visitor) const {
    for (const auto& [key, entry] : cache_) visitor(entry.object);
}

void InformerCore::visit_namespace(const std::string& namespace_, const std::function<void(const Object&)>& visitor) const {
    for (auto it = cache_.lower_bound({namespace_, ""}); it != cache_.end() && it->first.namespace_ == namespace_; ++it)
        visitor(it->second.object);
}

void InformerCore::visit_index(std::size_t index, const std::string& value, const std::function<void(const Object&)>& visitor) const {
    const auto& entries = indexes_[index].entries;
    const auto found = entries.find(value);
    if (found == entries.end()) return;
    for (const Cached cached : found->second) visitor(cached->second.object);
}

}  // namespace porthole::client
