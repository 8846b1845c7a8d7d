#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::winhost {

/// A name as Windows compares it: two names with the same fold are one. Simple case mapping, as NTFS has it.
std::string fold_case(std::string_view name);

/// Which spelling of each name is already taken in the folders below a layer, and in the layer itself.
///
/// Example: over a template with `windows/system32`, `Windows\System32\App.dll` is `windows/system32/App.dll`, and from then on
/// `app.DLL` in that folder means `App.dll`. Links in the lower folders are never followed. For the worker pool.
class LayerNames {
public:
    /// `drives`: the folders that hold C:\ below the layer, topmost first.
    explicit LayerNames(std::vector<std::string> drives) : drives_(std::move(drives)) {}

    /// How `name` is spelled in `folder` ("windows/system32", in its own spelling already; "" for C:\). A new name is as given.
    const std::string& spelling(const std::string& folder, const std::string& name);

private:
    using Names = std::map<std::string, std::string>;  ///< by fold
    Names& names_of(const std::string& folder);

    std::vector<std::string> drives_;
    std::map<std::string, Names> folders_;
};

}  // namespace porthole::winhost
