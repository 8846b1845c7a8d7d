#include "controllers/endpoints/slice_writer.h"

#include "base/result.h"

#include <charconv>

namespace porthole::controllers::endpoints {
namespace {

using client::NamespacedName;

constexpr Duration LongestLag = std::chrono::minutes(1);

std::string label(const EndpointSlice& slice, const char* key) {
    const auto found = slice.metadata.labels.find(key);
    return found == slice.metadata.labels.end() ? "" : found->second;
}

std::int64_t version(const EndpointSlice& slice) {
    const std::string& text = slice.metadata.resource_version;
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string index_key(const std::string& manager, const NamespacedName& service) { return manager + " " + service.text(); }

}  // namespace

SliceWriter::SliceWriter(Context& context, std::string manager, std::function<void(const NamespacedName&)> changed)
    : context_(context),
      manager_(std::move(manager)),
      slices_(context.informers.get<EndpointSlice>()),
      by_service_(slices_.add_index([](const EndpointSlice& slice) {
          return std::vector{index_key(label(slice, ManagedByLabel), {slice.metadata.namespace_, label(slice, ServiceNameLabel)})};
      })),
      changed_(std::move(changed)) {
    slices_.subscribe({.added = [this](const auto& slice) { seen(*slice, false); },
                       .updated = [this](const auto&, const auto& slice) { seen(*slice, false); },
                       .deleted = [this](const auto& slice) { seen(*slice, true); }});
}

void SliceWriter::seen(const EndpointSlice& slice, bool gone) {
    if (label(slice, ManagedByLabel) != manager_) return;
    const NamespacedName service{slice.metadata.namespace_, label(slice, ServiceNameLabel)};
    if (const auto pending = pending_.find(service); pending != pending_.end()) {
        auto& versions = pending->second.versions;
        const auto found = versions.find(slice.metadata.name);
        if (found != versions.end() && (gone || version(slice) >= found->second)) versions.erase(found);
        if (versions.empty()) pending_.erase(pending);
    }
    changed_(service);
}

void SliceWriter::wrote(const NamespacedName& service, const EndpointSlice& slice) {
    const auto cached = slices_.find(client::key_of(slice));
    if (cached && version(*cached) >= version(slice)) return;
    Pending& pending = pending_[service];
    pending.versions[slice.metadata.name] = version(slice);
    pending.since = context_.loop.now();
}

bool SliceWriter::up_to_date(const NamespacedName& service) {
    const auto pending = pending_.find(service);
    if (pending == pending_.end()) return true;
    if (context_.loop.now() - pending->second.since < LongestLag) return false;
    pending_.erase(pending);
    return true;
}

std::vector<EndpointSlice> SliceWriter::slices_of(const NamespacedName& service) const {
    std::vector<EndpointSlice> slices;
    for (const auto& slice : by_service_.find(index_key(manager_, service)))
        if (!slice->metadata.deletion_timestamp) slices.push_back(*slice);
    return slices;
}

Task<> SliceWriter::apply(NamespacedName service, SliceChanges changes) {
    for (EndpointSlice& slice : changes.create) {
        CO_TRY(const EndpointSlice created, co_await context_.client.create(std::move(slice)));
        wrote(service, created);
    }
    for (EndpointSlice& slice : changes.update) {
        CO_TRY(const EndpointSlice updated, co_await context_.client.update(std::move(slice)));
        wrote(service, updated);
    }
    for (const EndpointSlice& slice : changes.remove) {
        CO_TRY_VOID(ignore_not_found(co_await context_.client.remove<EndpointSlice>(client::key_of(slice), {.uid = slice.metadata.uid})));
    }
    co_return {};
}

}  // namespace porthole::controllers::endpoints
