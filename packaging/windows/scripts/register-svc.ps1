<#
.SYNOPSIS
Registers kubelet, flanneld, kube-proxy and csi-proxy as Windows services for a kubeconfig that is already there, and starts them.
-Print sc or -Print nssm shows the commands that do the same by other means and changes nothing.
#>
param(
    [string] $ManagementIP = '',
    [ValidateSet('l2bridge', 'overlay')] [string] $NetworkMode = 'l2bridge',
    [string] $ClusterCIDR = '10.244.0.0/16',
    [string] $ServiceCIDR = '10.96.0.0/12',
    [string] $KubeDnsServiceIP = '10.96.0.10',
    [string] $LogDir = 'C:\k',
    [string] $Folder = 'C:\k',
    [ValidateSet('', 'sc', 'nssm')] [string] $Print = ''
)
Import-Module "$PSScriptRoot\common.psm1" -Force
if (-not $Print) { Assert-Administrator }
Assert-Program "$Folder\porthole.exe"

$arguments = @('register', '--folder', $Folder, '--network-mode', $NetworkMode, '--node-name', (Get-NodeName), '--cluster-cidr', $ClusterCIDR,
    '--service-cidr', $ServiceCIDR, '--cluster-dns', $KubeDnsServiceIP, '--log-dir', $LogDir)
if ($ManagementIP) { $arguments += @('--node-ip', $ManagementIP) }
if ($Print) { $arguments += @('--print', $Print) }
Invoke-Program "$Folder\porthole.exe" $arguments
