<#
.SYNOPSIS
Brings up a node as console programs: kubelet, flanneld, kube-proxy, in this order, and waits until the node is there.
.EXAMPLE
.\start.ps1 -ManagementIP 192.0.2.13 -NetworkMode overlay
#>
param(
    [string] $ManagementIP = '',
    [ValidateSet('l2bridge', 'overlay')] [string] $NetworkMode = 'l2bridge',
    [string] $ClusterCIDR = '10.244.0.0/16',
    [string] $ServiceCIDR = '10.96.0.0/12',
    [string] $KubeDnsServiceIP = '10.96.0.10',
    [string] $InterfaceName = 'Ethernet',
    [string] $Folder = 'C:\k',
    [string] $LogDir = "$Folder\logs"
)
Import-Module "$PSScriptRoot\common.psm1" -Force
Assert-Administrator
foreach ($name in @('kubelet', 'flanneld', 'kube-proxy')) { Assert-Program "$Folder\$name.exe" }
if (-not $ManagementIP) { $ManagementIP = Get-AdapterAddress $InterfaceName }

& "$PSScriptRoot\start-kubelet.ps1" -ClusterCidr $ClusterCIDR -ManagementIP $ManagementIP -KubeDnsServiceIP $KubeDnsServiceIP -Folder $Folder -LogDir $LogDir
$backend = if ($NetworkMode -eq 'overlay') { 'vxlan' } else { 'host-gw' }
Start-Logged "$Folder\flanneld.exe" @(
    "--kubeconfig-file=$Folder\config", "--node-name=$(Get-NodeName)", "--iface=$ManagementIP", "--cluster-cidr=$ClusterCIDR",
    "--service-cidr=$ServiceCIDR", "--cluster-dns=$KubeDnsServiceIP", "--backend=$backend",
    "--cni-config-file=$Folder\cni\config\10-porthole.conf") $LogDir
& "$PSScriptRoot\start-kubeproxy.ps1" -NetworkMode $NetworkMode -ClusterCidr $ClusterCIDR -Folder $Folder -LogDir $LogDir

$running = { @(Get-Process -Name kubelet, flanneld, kube-proxy -ErrorAction SilentlyContinue).Count -ge 3 }
$configured = { Test-Path "$Folder\cni\config\10-porthole.conf" }
if (-not (Wait-Until $running 10)) { Stop-WithMessage "Not all programs run; see the logs in $LogDir." }
if (-not (Wait-Until $configured 90)) { Stop-WithMessage "The pod network does not come up; see $LogDir\flanneld.err.log." }
Write-Host "The node runs. On the control plane: kubectl get node $(Get-NodeName)"
