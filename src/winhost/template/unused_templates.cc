#include "winhost/template/unused_templates.h"

#include <algorithm>
#include <cctype>

namespace porthole::winhost {
namespace {

constexpr std::size_t Kept = 2;
constexpr std::chrono::hours RecentlyUsed{1};  // somebody may be about to mount it
constexpr std::size_t IdSize = 12;

bool is_template(const std::string& name) {
    return name.starts_with("wine-") && name.size() == 5 + IdSize &&
           std::ranges::all_of(name.substr(5), [](unsigned char c) { return std::isdigit(c) || (c >= 'A' && c <= 'F'); });
}

std::string mark(const std::string& folder) { return join_path(folder, "used"); }

}  // namespace

Result<void> mark_used(FileSystem& files, const std::string& template_folder) { return files.write(mark(template_folder), "", 0644); }

std::vector<std::string> find_unused_templates(FileSystem& files, const std::string& cache, const std::string& mountinfo,
                                               std::chrono::sys_time<std::chrono::nanoseconds> now) {
    struct Candidate {
        std::chrono::sys_time<std::chrono::nanoseconds> used;
        std::string folder;
    };
    std::vector<Candidate> all;
    for (const std::string& name : files.list(cache).value_or(std::vector<std::string>())) {
        const std::string folder = join_path(cache, name);
        if (!is_template(name)) continue;
        auto status = files.status(mark(folder));
        if (!status) status = files.status(folder);
        if (status) all.push_back({status->modified, folder});
    }
    std::ranges::sort(all, std::greater(), &Candidate::used);
    std::vector<std::string> unused;
    for (std::size_t i = Kept; i < all.size(); ++i)
        if (now - all[i].used > RecentlyUsed && !mountinfo.contains(all[i].folder + "/")) unused.push_back(all[i].folder);
    return unused;
}

Result<void> drop_template(FileSystem& files, const std::string& folder) {
    const std::string away = join_path(parent_path(folder), "wine-unused");
    TRY_VOID(files.remove_all(away));
    TRY_VOID(files.rename(folder, away));
    return files.remove_all(away);
}

}  // namespace porthole::winhost
