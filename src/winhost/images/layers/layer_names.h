#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::winhost {

/// A name as Windows compares it: two names with the same fold are one. Simple case mapping, as NTFS has it.
std::string fold_case(std::string_view name);

/// The spelling of each name that already exists in the directories below a layer, and in the layer itself.
///
/// Example: over a template with `windows/system32`, `Windows\System32\App.dll` is `windows/system32/App.dll`, and from then on `app.DLL`
/// in that directory means `App.dll`. Links in the lower directories are never followed. For the worker pool.
class LayerNames {
public:
    /// `drives`: the directories that contain C:\ below the layer, topmost first.
    explicit LayerNames(std::vector<std::string> drives) : drives_(std::move(drives)) {}

    /// The spelling of `name` in `folder` ("windows/system32", in its existing spelling; "" for C:\). A new name is returned unchanged.
    const std::string& spelling(const std::string& folder, const std::string& name);
    /// How many names and folders are known, which are held in memory.
    std::size_t count() const { return folders_.size() + names_; }

private:
    using Names = std::map<std::string, std::string>;  ///< by fold
    Names& names_of(const std::string& folder);

    std::vector<std::string> drives_;
    std::map<std::string, Names> folders_;
    std::size_t names_ = 0;
};

}  // namespace porthole::winhost
