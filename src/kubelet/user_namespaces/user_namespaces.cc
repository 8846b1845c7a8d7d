#include "kubelet/user_namespaces/user_namespaces.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

constexpr std::uint64_t AllIds = 1ULL << 32;
constexpr std::size_t RecordLimit = 4096;
constexpr const char* Owner = "kubelet";  // of subordinate ids

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || text.empty() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// The ranges of `Owner` in a file of lines "user:first:length"; none without the file. Error: BadRequest for a line of its that is none.
Result<std::vector<IdRange>> subordinate_ids(FileSystem& files, const std::string& path) {
    std::vector<IdRange> ranges;
    const auto text = files.read(path);
    if (!text && is_not_found(text)) return ranges;
    if (!text) return text.error();
    for (const std::string_view line : split(*text, '\n')) {
        const auto fields = split(trim(line), ':');
        if (fields.empty() || fields[0] != Owner) continue;
        const auto first = fields.size() == 3 ? number(fields[1]) : std::nullopt, length = first ? number(fields[2]) : std::nullopt;
        if (!length) return Error(Reason::BadRequest, path + ": invalid line \"" + std::string(line) + "\"");
        ranges.push_back({*first, *length});
    }
    return ranges;
}

/// The ids that pods of this node may have. Error: BadRequest.
Result<IdRange> ids_of_node(FileSystem& files, const UserNamespaces::Settings& settings) {
    const auto unfit = [](const std::string& why) { return Error(Reason::BadRequest, "the node's ids for user namespaces: " + why); };
    TRY(const auto users, subordinate_ids(files, "/etc/subuid"));
    TRY(const auto groups, subordinate_ids(files, "/etc/subgid"));
    const std::uint64_t each = settings.ids_per_pod;
    IdRange ids{each, AllIds - each};
    if (!users.empty() || !groups.empty()) {
        if (users.size() != 1 || users != groups)
            return unfit("/etc/subuid and /etc/subgid must have one and the same line for the user kubelet");
        ids = users.front();
    }
    const std::string shown = std::to_string(ids.first) + ":" + std::to_string(ids.length);
    if (ids.end() > AllIds || ids.first % each != 0 || ids.length % each != 0)
        return unfit(shown + " does not begin and end at multiples of " + std::to_string(each));
    if (ids.first < each) return unfit(shown + " includes ids of the node's own users");
    // The kernel maps no range with the last id, which stands for "none".
    if (ids.end() == AllIds) ids.length -= each;
    if (ids.length / each < static_cast<std::uint64_t>(std::max<std::int64_t>(settings.max_pods, 0)))
        return unfit(shown + " is not enough for " + std::to_string(settings.max_pods) + " pods with " + std::to_string(each) + " each");
    return ids;
}

/// The only mapping of a record's list. Error: BadRequest unless it is one that a kubelet would have made.
Result<IdRange> mapping_at(const Value& record, const char* list) {
    const Value& mappings = schema::at(record, list);
    if (!mappings.is_array() || mappings.as_array().size() != 1) return Error(Reason::BadRequest, "it must have one mapping");
    const Value& only = mappings.as_array().front();
    const std::int64_t first = schema::at(only, "hostId").int_or(-1), length = schema::at(only, "length").int_or(-1);
    constexpr auto Unit = static_cast<std::int64_t>(UserNamespaces::Unit), All = static_cast<std::int64_t>(AllIds);
    if (schema::at(only, "containerId").int_or(-1) != 0 || first < Unit || length < Unit || first >= All || length >= All - first)
        return Error(Reason::BadRequest, "it maps ids that no pod has");
    return IdRange{static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(length)};
}

Result<IdRange> parse_record(std::string_view text) {
    TRY(const Value record, schema::parse_json(text));
    TRY(const IdRange users, mapping_at(record, "uidMappings"));
    TRY(const IdRange groups, mapping_at(record, "gidMappings"));
    if (users != groups) return Error(Reason::BadRequest, "users and groups must be mapped alike");
    return users;
}

std::string record_text(const IdRange& ids) {
    const auto mappings = [&] {
        Value list = Value::array();
        list.as_array().push_back(Value::object(
            {{"hostId", static_cast<std::int64_t>(ids.first)}, {"containerId", 0}, {"length", static_cast<std::int64_t>(ids.length)}}));
        return list;
    };
    return schema::to_json(Value::object({{"uidMappings", mappings()}, {"gidMappings", mappings()}}));
}

}  // namespace

cri::UserNamespace pod_user_namespace(const IdRange& ids) {
    cri::IDMapping mapping;
    mapping.host_id = static_cast<std::uint32_t>(ids.first);
    mapping.length = static_cast<std::uint32_t>(ids.length);
    cri::UserNamespace users;
    users.mode = cri::NamespaceMode::Pod;
    users.uids = users.gids = {mapping};
    return users;
}

UserNamespaces::UserNamespaces(FileSystem& files, Random& random, Logger log, Settings settings)
    : files_(files), random_(random), log_(std::move(log)), settings_(std::move(settings)), pool_(ids_of_node(files, settings_)) {}

void UserNamespaces::restore(const std::vector<std::string>& pod_uids) {
    for (const std::string& uid : pod_uids) {
        const auto text = files_.read_untrusted(record_path(uid), 0, RecordLimit);
        if (is_not_found(text)) continue;
        const auto ids = text ? parse_record(*text) : Result<IdRange>(text.error());
        if (ids && is_free(*ids)) {
            ranges_[uid] = *ids;
            continue;
        }
        damaged_.insert(uid);
        log_.warn("the record of a pod's user namespace cannot be trusted",
                  {{"path", record_path(uid)}, {"error", ids ? "another pod has these ids" : ids.error().message}});
    }
}

bool UserNamespaces::is_free(const IdRange& ids) const {
    return std::ranges::none_of(ranges_, [&](const auto& taken) { return taken.second.overlaps(ids); });
}

/// At random: kubelets that share a machine, or follow each other on it, rarely give out the same ids.
Result<IdRange> UserNamespaces::pick() {
    const std::uint64_t each = settings_.ids_per_pod, count = pool_->length / each, start = count ? random_.below(count) : 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const IdRange ids{pool_->first + (start + i) % count * each, each};
        if (is_free(ids)) return ids;
    }
    return Error(Reason::Conflict, "all " + std::to_string(count) + " ranges of ids for user namespaces are in use");
}

Result<IdRange> UserNamespaces::ensure(const std::string& uid) {
    if (const auto known = ranges_.find(uid); known != ranges_.end()) return known->second;
    if (!pool_) return pool_.error();
    if (!damaged_.empty())
        return Error(Reason::Conflict, "no further pod can get a user namespace: " + record_path(*damaged_.begin()) +
                                           ", which records the ids of a pod, is damaged; delete that pod");
    TRY(const IdRange ids, pick());
    TRY_VOID(files_.replace(record_path(uid), record_text(ids), 0600));
    ranges_[uid] = ids;
    return ids;
}

Result<IdRange> UserNamespaces::find(const std::string& uid) const {
    if (const auto known = ranges_.find(uid); known != ranges_.end()) return known->second;
    return Error(Reason::NotFound,
                 "it is not known which ids the pod's user namespace has: " + record_path(uid) + " is missing or damaged");
}

void UserNamespaces::release(const std::string& uid) {
    ranges_.erase(uid);
    damaged_.erase(uid);
}

}  // namespace porthole::kubelet
