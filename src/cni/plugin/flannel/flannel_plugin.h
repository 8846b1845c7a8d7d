#pragma once
#include <string>

#include "cni/plugin/delegate.h"
#include "cni/plugin/flannel/delegated_config.h"

namespace porthole::cni {

/// Options that depend on the system.
struct FlannelPluginOptions {
    DelegateStyle style = DelegateStyle::Linux;
    std::string subnet_file;  ///< default of `subnetFile` in the configuration
    std::string data_dir;     ///< default of `dataDir` in the configuration
};
/// The reference plugin's: /run/flannel/subnet.env and /var/lib/cni/flannel, on Windows of drive C.
FlannelPluginOptions default_flannel_plugin_options();

/// The plugin of type "flannel".
///
/// The configuration that an ADD delegated is kept in a file named after the container, in the reference plugin's form, so that a DEL
/// reverts that ADD even if configuration or subnet have changed. The file is removed when the delegate has nothing left; until then a DEL
/// may be repeated.
class FlannelPlugin final : public Plugin {
public:
    FlannelPlugin(FileSystem& files, Delegates& delegates, FlannelPluginOptions options)
        : files_(files), delegates_(delegates), options_(std::move(options)) {}

    Task<CniResult> add(CniRequest request) override;
    Task<> remove(CniRequest request) override;
    Task<> check(CniRequest request) override;
    Task<> status(CniRequest request) override;
    Task<> collect(CniRequest request) override;

private:
    Result<flannel::SubnetFile> subnet(const CniRequest& request);
    Result<schema::Value> current_config(const CniRequest& request);
    std::string folder(const CniRequest& request) const;
    std::string kept_file(const CniRequest& request) const;
    Result<void> keep(const std::string& path, const schema::Value& config);
    Result<schema::Value> kept(const std::string& path);
    Task<> undo(CniRequest request, schema::Value config);

    FileSystem& files_;
    Delegates& delegates_;
    FlannelPluginOptions options_;
};

}  // namespace porthole::cni
