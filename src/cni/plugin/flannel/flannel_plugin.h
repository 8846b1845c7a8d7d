#pragma once
#include <string>

#include "cni/plugin/delegate.h"
#include "cni/plugin/flannel/delegated_config.h"

namespace porthole::cni {

/// What the system decides for the plugin.
struct FlannelPluginOptions {
    DelegateStyle style = DelegateStyle::Linux;
    std::string subnet_file;  ///< unless the configuration says `subnetFile`
    std::string data_dir;     ///< unless the configuration says `dataDir`
};
/// The reference plugin's: /run/flannel/subnet.env and /var/lib/cni/flannel, on Windows of drive C.
FlannelPluginOptions default_flannel_plugin_options();

/// The plugin of type "flannel".
///
/// What an ADD delegated is kept in a file of the container's name, in the reference plugin's form, so that a DEL undoes that very ADD
/// whatever configuration and subnet are by then. The file goes when the delegate has nothing left; until then a DEL may be repeated.
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
