#pragma once
#include <gtest/gtest.h>

#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "runtime/sim/memory_file_system.h"
#include "schema/json/json.h"

namespace porthole::kubelet {

inline constexpr const char* SelinuxPolicy =
    "process = \"system_u:system_r:container_t:s0\"\nfile = \"system_u:object_r:container_file_t:s0\"\n";

/// Files of a machine whose mounts are `mountinfo`, and whose policy names the labels of containers as `contexts`: as
/// they are on Debian 12.
inline void put_selinux(FileSystem& files, const std::string& mountinfo, const std::string& contexts = SelinuxPolicy) {
    const auto put = [&](const std::string& path, const std::string& text) {
        ASSERT_TRUE(files.create_directories(parent_path(path), 0755));
        ASSERT_TRUE(files.write(path, text, 0644));
    };
    put("/proc/thread-self/mountinfo", mountinfo);
    put("/proc/thread-self/attr/current", "system_u:system_r:unconfined_service_t:s0");
    put("/usr/share/containers/selinux/contexts", contexts);
}

inline constexpr const char* SelinuxMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,seclabel\n"
    "24 22 0:20 / /sys/fs/selinux rw,nosuid - selinuxfs selinuxfs rw\n";

/// A pod whose container "c" has the volume "v", at `level` unless that is "".
inline core::Pod selinux_pod(const std::string& uid, const std::string& level, const std::string& more = "") {
    const std::string options = level.empty() ? "" : R"("seLinuxOptions":{"level":")" + level + R"("})";
    const std::string comma = options.empty() || more.empty() ? "" : ",";
    return schema::decode_json<core::Pod>(R"({"metadata":{"name":"p","namespace":"ns","uid":")" + uid +
                                          R"("},"spec":{"securityContext":{)" + options + comma + more +
                                          R"(},"containers":[{"name":"c","volumeMounts":[{"name":"v","mountPath":"/v"}]}],)"
                                          R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]}})")
        .value();
}

}  // namespace porthole::kubelet
