package asset

import (
	"fmt"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/value"
)

// An Image is a container image with one of its destinations.
type Image struct {
	Stack           string // the first that needs it
	ID, DisplayName string

	Repository, Tag, Region string
	Registry                string // its host name

	manifest *assembly.AssetManifest
	source   *value.Object
}

// String names the image for messages.
func (i *Image) String() string { return described("image", i.ID, i.DisplayName, i.Stack) }

// URL is where the image has to be.
func (i *Image) URL() string { return i.Registry + "/" + i.Repository + ":" + i.Tag }

func (i *Image) namedIn(properties any) bool {
	return mentions(properties, i.Tag) || mentions(properties, i.ID)
}

// local is the image's tag before it goes to a repository.
func (i *Image) local() string { return "cdkd-asset-" + i.ID }

// Images lists the images that a stack needs, each destination on its own. m
// may be nil.
func Images(m *assembly.AssetManifest, env Environment) ([]*Image, error) {
	if m == nil {
		return nil, nil
	}
	var images []*Image
	for _, a := range m.Images {
		if a.Source.String("directory") == "" && len(a.Source.List("executable")) == 0 {
			return nil, fmt.Errorf("stack %s: image %s in %s has neither a directory to build nor an executable that makes it", env.Stack, a.ID, m.File)
		}
		for _, d := range a.Destinations {
			region := fill(d.Region, env.AccountID, env.Region)
			if region == "" {
				region = env.Region
			}
			images = append(images, &Image{
				Stack: env.Stack, ID: a.ID, DisplayName: a.DisplayName,
				Repository: fill(d.Repository, env.AccountID, region),
				Tag:        fill(d.Tag, env.AccountID, region),
				Region:     region,
				Registry:   fmt.Sprintf("%s.dkr.ecr.%s.%s", env.AccountID, region, partition.URLSuffix(region)),
				manifest:   m, source: a.Source,
			})
		}
	}
	return images, nil
}

// buildArguments are those of the builder, in the order in which the CDK gives
// them: layers are found in caches by them.
func buildArguments(source *value.Object, tag string) []string {
	args := []string{"build", "--tag", tag}
	each := func(flag, member, between string) {
		for name, v := range source.Object(member).All() {
			text, _ := value.Text(v)
			args = append(args, flag, name+between+text)
		}
	}
	one := func(flag, member string) {
		if v := source.String(member); v != "" {
			args = append(args, flag, v)
		}
	}
	each("--build-arg", "dockerBuildArgs", "=")
	each("--build-context", "dockerBuildContexts", "=")
	for name, v := range source.Object("dockerBuildSecrets").All() {
		text, _ := value.Text(v)
		args = append(args, "--secret", "id="+name+","+text)
	}
	one("--ssh", "dockerBuildSsh")
	one("--target", "dockerBuildTarget")
	one("--file", "dockerFile")
	one("--network", "networkMode")
	one("--platform", "platform")
	for _, v := range source.List("dockerOutputs") {
		if text, ok := v.(string); ok {
			args = append(args, "--output="+text)
		}
	}
	for _, v := range source.List("cacheFrom") {
		if o, ok := v.(*value.Object); ok {
			args = append(args, "--cache-from", cacheOption(o))
		}
	}
	if o := source.Object("cacheTo"); o != nil {
		args = append(args, "--cache-to", cacheOption(o))
	}
	if source.Value("cacheDisabled") == true {
		args = append(args, "--no-cache")
	}
	return append(args, ".")
}

func cacheOption(o *value.Object) string {
	text := "type=" + o.String("type")
	for name, v := range o.Object("params").All() {
		param, _ := value.Text(v)
		text += "," + name + "=" + param
	}
	return text
}
