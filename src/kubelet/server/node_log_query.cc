#include "kubelet/server/node_log_query.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/result.h"
#include "base/strings.h"
#include "kubelet/server/log_reader.h"

namespace porthole::kubelet {
namespace {

constexpr std::int64_t MostTailLines = 100'000;
constexpr std::size_t MostServices = 8;  ///< of one query, which has room for the same one thousands of times

/// A part of a path that names something in its folder: neither the folder itself nor what is above, no other stream of a file.
bool is_plain(const std::string& part) {
    return !part.empty() && part != "." && part != ".." && part.find_first_of(std::string_view("/\\:\0", 4)) == part.npos;
}

Result<std::optional<std::int64_t>> time_of(const std::string& key, const std::string& text) {
    const auto time = parse_log_time(text);
    if (!time) return Error(Reason::BadRequest, key + " is not a valid RFC 3339 time: " + text);
    return time;
}

Result<std::optional<std::int64_t>> tail_of(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > MostTailLines)
        return Error(Reason::BadRequest, "tailLines must be a number from 0 to " + std::to_string(MostTailLines) + ", not " + text);
    return std::optional(number);
}

/// Of a line that begins with its time.
std::optional<std::int64_t> time_of_line(std::string_view line) { return parse_log_time(line.substr(0, line.find(' '))); }

}  // namespace

Result<std::string> file_below(FileSystem& files, const std::string& folder, const std::vector<std::string>& parts) {
    TRY(const std::string root, files.real_path(folder));
    std::string place = root;
    for (const std::string& part : parts) {
        if (!is_plain(part)) return Error(Reason::BadRequest, "invalid path");
        place += "/" + part;
    }
    TRY(std::string real, files.real_path(place));
    const bool below = real.starts_with(root) && (real.size() == root.size() || real[root.size()] == '/' || real[root.size()] == '\\');
    if (!below) return Error(Reason::Forbidden, "the file is outside of the log directory");
    return real;
}

Result<std::optional<NodeLogQuery>> NodeLogQuery::parse(const std::vector<std::pair<std::string, std::string>>& query) {
    NodeLogQuery asked;
    for (const auto& [key, value] : query) {
        if (key == "query" && !value.empty()) asked.services_.push_back(value);
    }
    if (asked.services_.empty()) return std::optional<NodeLogQuery>();
    if (asked.services_.size() > MostServices)
        return Error(Reason::BadRequest, "query may be given " + std::to_string(MostServices) + " times at most");
    for (const auto& [key, value] : query) {
        if (value.empty()) continue;
        if (key == "boot") return Error(Reason::BadRequest, "boot is not supported: the logs of this node are files");
        if (key == "tailLines") {
            TRY(asked.tail_lines_, tail_of(value));
        } else if (key == "sinceTime") {
            TRY(asked.since_, time_of(key, value));
        } else if (key == "untilTime") {
            TRY(asked.until_, time_of(key, value));
        } else if (key == "pattern") {
            TRY(asked.pattern_, Regex::compile(value));
        }
    }
    if (asked.since_ && asked.until_ && *asked.since_ > *asked.until_)
        return Error(Reason::BadRequest, "sinceTime must not be after untilTime");
    return std::optional(std::move(asked));
}

Result<std::string> NodeLogQuery::find(FileSystem& files, const Folders& folders, const std::string& service) {
    std::vector<std::vector<std::string>> places{{service + ".log"}, {service, service + ".log"}, {service}};
    if (service.contains('/')) places = {split(service, '/')};
    std::vector<std::string> all = folders.own;
    all.push_back(folders.root);
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const auto& parts : places) {
            auto place = file_below(files, all[i], parts);
            if (is_not_found(place)) continue;
            TRY_VOID(place);
            if (i < folders.own.size() && !place->ends_with(".log")) continue;
            TRY(const FileStatus status, files.status(*place));
            if (status.is_regular()) return place;
        }
    }
    return Error(Reason::NotFound, "this node has no log file of \"" + service + "\"");
}

/// A line without a time belongs to the one before.
std::string NodeLogQuery::lines_of(const std::string& text) const {
    std::vector<std::string_view> chosen;
    std::int64_t time = std::numeric_limits<std::int64_t>::min();
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        const std::string_view line = std::string_view(text).substr(start, end - start);
        start = end + 1;
        if (since_ || until_) time = time_of_line(line).value_or(time);
        if ((since_ && time < *since_) || (until_ && time > *until_) || (pattern_ && !pattern_->search(line))) continue;
        chosen.push_back(line);
    }
    const std::size_t wanted = tail_lines_ ? static_cast<std::size_t>(*tail_lines_) : chosen.size();
    std::string shown;
    for (std::size_t i = chosen.size() - std::min(wanted, chosen.size()); i < chosen.size(); ++i) shown.append(chosen[i]) += '\n';
    return shown;
}

Result<std::string> NodeLogQuery::run(FileSystem& files, const Folders& folders) const {
    std::string shown;
    for (const std::string& service : services_) {
        TRY(const std::string place, find(files, folders, service));
        TRY(const std::string text, files.read(place));
        shown += lines_of(text);
    }
    return shown;
}

}  // namespace porthole::kubelet
