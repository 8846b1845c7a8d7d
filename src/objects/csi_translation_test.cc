#include "objects/csi_translation.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

using namespace api::core::v1;
using api::storage::v1::StorageClass;

PersistentVolume named(const char* name) {
    PersistentVolume volume;
    volume.metadata.name = name;
    return volume;
}

/// Key and values of the only expression of each term of the affinity.
std::string affinity(const PersistentVolume& volume) {
    std::string text;
    if (!volume.spec.node_affinity) return text;
    for (const auto& term : volume.spec.node_affinity->required->node_selector_terms)
        for (const auto& expression : term.match_expressions) {
            text += expression.key + "=";
            for (const auto& value : expression.values) text += value + ",";
            text += ";";
        }
    return text;
}

// STO-20
TEST(CsiTranslation, KnowsTheDriversThatTookOver) {
    EXPECT_EQ(driver_of_in_tree_plugin("kubernetes.io/cinder"), "cinder.csi.openstack.org");
    EXPECT_EQ(in_tree_plugin_of_driver("pxd.portworx.com"), "kubernetes.io/portworx-volume");
    EXPECT_EQ(driver_of_in_tree_plugin("kubernetes.io/nfs"), "");
    EXPECT_EQ(in_tree_plugin_of_driver("csi.example.com"), "");
}

TEST(CsiTranslation, LeavesOtherVolumesAlone) {
    PersistentVolume volume = named("v");
    volume.spec.nfs.emplace().server = "s";
    EXPECT_EQ(*translated_to_csi(volume), volume);
    EXPECT_EQ(in_tree_plugin_of(volume), "");
    EXPECT_FALSE(*translated_to_csi(Volume(), "ns"));
}

TEST(CsiTranslation, AwsVolumesKeepTheirZone) {
    PersistentVolume volume = named("v");
    volume.spec.aws_elastic_block_store = AWSElasticBlockStoreVolumeSource{"aws://us-east-1a/vol-12", "xfs", 1, true};
    volume.metadata.labels["topology.kubernetes.io/zone"] = "us-east-1a";
    EXPECT_EQ(in_tree_plugin_of(volume), "kubernetes.io/aws-ebs");
    const auto translated = translated_to_csi(volume);
    ASSERT_TRUE(translated);
    ASSERT_TRUE(translated->spec.csi);
    EXPECT_FALSE(translated->spec.aws_elastic_block_store);
    EXPECT_EQ(translated->spec.csi->driver, "ebs.csi.aws.com");
    EXPECT_EQ(translated->spec.csi->volume_handle, "vol-12");
    EXPECT_EQ(translated->spec.csi->fs_type, "xfs");
    EXPECT_TRUE(translated->spec.csi->read_only);
    EXPECT_EQ(translated->spec.csi->volume_attributes.at("partition"), "1");
    EXPECT_EQ(affinity(*translated), "topology.ebs.csi.aws.com/zone=us-east-1a,;");
    volume.spec.aws_elastic_block_store->volume_id = "aws://us-east-1a/disk";
    EXPECT_TRUE(translated_to_csi(volume).error().message.ends_with("Invalid format for AWS volume (aws://us-east-1a/disk)"));
}

TEST(CsiTranslation, AnAffinityWithOldKeysIsRenamed) {
    PersistentVolume volume = named("v");
    volume.spec.cinder.emplace().volume_id = "id";
    auto& expressions = volume.spec.node_affinity.emplace().required.emplace().node_selector_terms.emplace_back().match_expressions;
    expressions.push_back({.key = "failure-domain.beta.kubernetes.io/zone", .operator_ = "In", .values = {"nova"}});
    expressions.push_back({.key = "failure-domain.beta.kubernetes.io/region", .operator_ = "In", .values = {"r"}});
    volume.metadata.labels["failure-domain.beta.kubernetes.io/zone"] = "another";
    EXPECT_EQ(affinity(*translated_to_csi(volume)), "topology.cinder.csi.openstack.org/zone=nova,;topology.kubernetes.io/region=r,;");
}

TEST(CsiTranslation, GceDisksAreZonalOrRegional) {
    PersistentVolume volume = named("v");
    volume.spec.gce_persistent_disk.emplace().pd_name = "disk";
    volume.spec.access_modes = {"ReadWriteMany"};
    const auto handle = [&] { return translated_to_csi(volume)->spec.csi->volume_handle; };
    EXPECT_EQ(handle(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk");
    EXPECT_EQ(translated_to_csi(volume)->spec.access_modes, std::vector<std::string>{"ReadWriteOnce"});
    volume.metadata.labels["topology.kubernetes.io/zone"] = "us-central1-a";
    EXPECT_EQ(handle(), "projects/UNSPECIFIED/zones/us-central1-a/disks/disk");
    volume.metadata.labels["topology.kubernetes.io/zone"] = "us-central1-a__us-central1-b";
    EXPECT_EQ(handle(), "projects/UNSPECIFIED/regions/us-central1/disks/disk");
    EXPECT_EQ(affinity(*translated_to_csi(volume)), "topology.gke.io/zone=us-central1-a,us-central1-b,;");
    volume.metadata.labels["topology.kubernetes.io/zone"] = "us-central1-a__eu-west1-b";
    EXPECT_FALSE(translated_to_csi(volume)) << "two regions";
}

TEST(CsiTranslation, AzureFileNeedsTheNamespaceOfItsSecret) {
    PersistentVolume volume = named("v");
    volume.spec.azure_file.emplace().secret_name = "azure-storage-account-acc-secret";
    volume.spec.azure_file->share_name = "share";
    EXPECT_EQ(translated_to_csi(volume).error().message, "could not find a secret namespace in PersistentVolumeSource or ClaimRef");
    volume.spec.claim_ref.emplace().namespace_ = "ns";
    volume.metadata.annotations["kubernetes.io/azure-file-resource-group"] = "rg";
    const auto translated = translated_to_csi(volume);
    EXPECT_EQ(translated->spec.csi->volume_handle, "rg#acc#share#v#ns");
    EXPECT_EQ(translated->spec.csi->node_stage_secret_ref->namespace_, "ns");
}

TEST(CsiTranslation, UnmanagedAzureDisksHaveNoDriver) {
    PersistentVolume volume = named("v");
    volume.spec.azure_disk.emplace().disk_uri = "/subscriptions/s/disks/d";
    volume.spec.azure_disk->kind = "Managed";
    EXPECT_EQ(translated_to_csi(volume)->spec.csi->volume_attributes.at("kind"), "Managed");
    volume.spec.azure_disk->kind = "Dedicated";
    EXPECT_EQ(translated_to_csi(volume).error().message, "kind(Dedicated) is not supported in csi migration");
}

TEST(CsiTranslation, VSphereHasZonesAndRegions) {
    PersistentVolume volume = named("v");
    volume.spec.vsphere_volume.emplace().volume_path = "[ds] v.vmdk";
    volume.spec.vsphere_volume->storage_policy_name = "gold";
    volume.metadata.labels = {{"topology.kubernetes.io/zone", "z"}, {"topology.kubernetes.io/region", "r"}};
    const auto translated = translated_to_csi(volume);
    EXPECT_EQ(affinity(*translated), "topology.csi.vmware.com/zone=z,;topology.csi.vmware.com/region=r,;");
    EXPECT_EQ(translated->spec.csi->volume_attributes.at("storagepolicyname"), "gold");
}

TEST(CsiTranslation, PortworxTakesItsSecretFromAnnotations) {
    PersistentVolume volume = named("v");
    volume.spec.portworx_volume.emplace().volume_id = "id";
    EXPECT_FALSE(translated_to_csi(volume)->spec.csi->node_publish_secret_ref);
    volume.metadata.annotations = {{"openstorage.io/auth-secret-name", "s"}, {"openstorage.io/auth-secret-namespace", "ns"}};
    EXPECT_EQ(translated_to_csi(volume)->spec.csi->node_publish_secret_ref->name, "s");
}

// STO-20
TEST(CsiTranslation, InlineVolumesStandForPersistentOnes) {
    Volume volume;
    volume.name = "data";
    volume.gce_persistent_disk.emplace().pd_name = "disk";
    volume.gce_persistent_disk->read_only = true;
    EXPECT_EQ(in_tree_plugin_of(volume), "kubernetes.io/gce-pd");
    const auto disk = *translated_to_csi(volume, "ns");
    ASSERT_TRUE(disk);
    EXPECT_EQ(disk->metadata.name, "pd.csi.storage.gke.io-disk");
    EXPECT_EQ(disk->spec.access_modes, std::vector<std::string>{"ReadOnlyMany"});
    EXPECT_EQ(disk->spec.volume_mode, "Filesystem");
    volume.gce_persistent_disk.reset();
    volume.azure_file.emplace() = {.secret_name = "s", .share_name = "share"};
    EXPECT_EQ((*translated_to_csi(volume, "ns"))->spec.csi->volume_handle, "#s#share#data#ns");
}

TEST(CsiTranslation, ClassesGetTheDriversParameters) {
    StorageClass aws;
    aws.provisioner = "kubernetes.io/aws-ebs";
    aws.parameters = {{"fsType", "ext4"}, {"zones", "a,b"}, {"iopsPerGB", "3"}};
    const auto translated = translated_to_csi(aws);
    EXPECT_EQ(translated->provisioner, aws.provisioner);
    EXPECT_EQ(translated->parameters,
              (std::map<std::string, std::string>{
                  {"allowautoiopspergbincrease", "true"}, {"csi.storage.k8s.io/fstype", "ext4"}, {"iopsPerGB", "3"}}));
    ASSERT_EQ(translated->allowed_topologies.size(), 1u);
    EXPECT_EQ(translated->allowed_topologies[0].match_label_expressions[0].values, (std::vector<std::string>{"a", "b"}));
    aws.allowed_topologies = {{.match_label_expressions = {{.key = "topology.kubernetes.io/zone", .values = {"c"}}}}};
    EXPECT_EQ(translated_to_csi(aws).error().message, "cannot simultaneously set allowed topologies and zone/zones parameters");
    aws.parameters.clear();
    EXPECT_EQ(translated_to_csi(aws)->allowed_topologies[0].match_label_expressions[0].key, "topology.ebs.csi.aws.com/zone");

    StorageClass vsphere;
    vsphere.provisioner = "kubernetes.io/vsphere-volume";
    vsphere.parameters = {{"Datastore", "d"}, {"unknown", "x"}};
    EXPECT_EQ(translated_to_csi(vsphere)->parameters,
              (std::map<std::string, std::string>{{"csimigration", "true"}, {"datastore-migrationparam", "d"}}));

    StorageClass portworx;
    portworx.provisioner = "kubernetes.io/portworx-volume";
    portworx.parameters = {{"openstorage.io/auth-secret-name", "s"}};
    EXPECT_EQ(translated_to_csi(portworx)->provisioner, "pxd.portworx.com");
    EXPECT_EQ(translated_to_csi(portworx)->parameters.at("csi.storage.k8s.io/node-stage-secret-name"), "s");

    StorageClass other;
    other.provisioner = "csi.example.com";
    other.parameters = {{"fstype", "ext4"}};
    EXPECT_EQ(*translated_to_csi(other), other);
}

}  // namespace
}  // namespace porthole::objects
