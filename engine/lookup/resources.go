package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/value"
)

// resources asks Cloud Control for resources of a type: one by its identifier,
// or all that have certain properties.
func resources(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	typ, err := required(props, "typeName")
	if err != nil {
		return nil, err
	}
	client, id := cloudcontrol.NewFromConfig(cfg), props.String("exactIdentifier")
	var found []*value.Object
	if id != "" {
		found, err = resourceByID(ctx, client, typ, id)
	} else {
		found, err = resourcesBy(ctx, client, typ, props)
	}
	if err != nil {
		return nil, err
	}
	what := typ
	if id != "" {
		what += " " + id
	} else if match := props.Object("propertyMatch"); match.Len() > 0 {
		what += " with " + value.JSON(match)
	}
	// With a dummy to give instead, none is not a wrong number of them.
	dummy := props.Value("ignoreErrorOnMissingContext") == true && props.Has("dummyValue")
	if len(found) == 0 && dummy {
		return nil, &NotFoundError{what}
	}
	switch want := cmp.Or(props.String("expectedMatchCount"), "exactly-one"); want {
	case "any":
	case "at-least-one":
		if len(found) == 0 {
			return nil, &NotFoundError{what}
		}
	case "at-most-one", "exactly-one":
		if len(found) > 0 || want == "exactly-one" {
			if _, err := sole(found, what); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("the question's expectedMatchCount is %q, which is not known", want)
	}
	return list(found, func(model *value.Object) any { return part(model, texts(props.Value("propertiesToReturn"))) }), nil
}

func resourceByID(ctx context.Context, client *cloudcontrol.Client, typ, id string) ([]*value.Object, error) {
	out, err := client.GetResource(ctx, &cloudcontrol.GetResourceInput{TypeName: &typ, Identifier: &id})
	if _, none := errors.AsType[*types.ResourceNotFoundException](err); none {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	model, err := modelOf(out.ResourceDescription)
	return []*value.Object{model}, err
}

func resourcesBy(ctx context.Context, client *cloudcontrol.Client, typ string, props *value.Object) ([]*value.Object, error) {
	in := &cloudcontrol.ListResourcesInput{TypeName: &typ}
	if of := props.Object("resourceModel"); of.Len() > 0 {
		in.ResourceModel = aws.String(value.JSON(of))
	}
	var found []*value.Object
	for pages := cloudcontrol.NewListResourcesPaginator(client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range page.ResourceDescriptions {
			model, err := modelOf(&d)
			if err != nil {
				return nil, err
			}
			if matches(model, props.Object("propertyMatch")) {
				found = append(found, model)
			}
		}
	}
	return found, nil
}

func modelOf(d *types.ResourceDescription) (*value.Object, error) {
	if d == nil {
		return nil, errors.New("the answer of Cloud Control holds no resource")
	}
	model, err := value.ParseObject([]byte(aws.ToString(d.Properties)))
	if err != nil {
		return nil, fmt.Errorf("read the properties of %s: %w", aws.ToString(d.Identifier), err)
	}
	model.Set("Identifier", aws.ToString(d.Identifier))
	return model, nil
}

func matches(model, wanted *value.Object) bool {
	for path, want := range wanted.All() {
		got, ok := at(model, path)
		if !ok || value.JSON(got) != value.JSON(want) {
			return false
		}
	}
	return true
}

// part is of a model what was asked for, by dotted paths.
func part(model *value.Object, paths []string) *value.Object {
	if len(paths) == 0 {
		return model
	}
	some := value.NewObject("Identifier", model.Value("Identifier"))
	for _, path := range paths {
		if v, ok := at(model, path); ok {
			some.Set(path, v)
		}
	}
	return some
}

func at(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		o, ok := v.(*value.Object)
		if !ok {
			return nil, false
		}
		if v, ok = o.Get(name); !ok {
			return nil, false
		}
	}
	return v, true
}
