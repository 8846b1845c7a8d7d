<#
.SYNOPSIS
Brings up a node as console programs: flanneld, kubelet, kube-proxy, in this order, and waits until the cluster shows the node Ready. What runs
already is left alone. The same without PowerShell: porthole.exe start.
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
Assert-Program "$Folder\porthole.exe"
if (-not $ManagementIP) { $ManagementIP = Get-AdapterAddress $InterfaceName }

Invoke-Program "$Folder\porthole.exe" @('start', '--folder', $Folder, '--node-name', (Get-NodeName), '--management-ip', $ManagementIP,
    '--network-mode', $NetworkMode, '--cluster-cidr', $ClusterCIDR, '--service-cidr', $ServiceCIDR, '--cluster-dns', $KubeDnsServiceIP,
    '--log-dir', $LogDir)
